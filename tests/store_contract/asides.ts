/**
 * Jobs aside: those that a worker has taken and lacks the class of. They wait in their queue for workers with the class.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { laneOf } from "../../src/job/priority.ts";
import { getField } from "../../src/job/raw.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { queuePlaces } from "../../src/store/ops/queue_places.ts";
import type { Lease, NewJob } from "../../src/store/port/jobs.ts";
import type { Cases } from "./harness.ts";
import {
  entries,
  HOUR_MS,
  job,
  jobs,
  lapse,
  numbers,
  numbersIn,
  register,
  rescueAll,
  takeUpTo,
  woken,
} from "./jobs.ts";

/** A worker that has the class Mail only, and one that has HardJob only, the class of the jobs. */
const LACKING = "host:1:aaaaaaaaaaaa";
const HAVING = "host:2:bbbbbbbbbbbb";

function take(store: Store, worker: string, limit = 100, classes = worker === HAVING ? ["HardJob"] : ["Mail"]) {
  return store.jobs.take({ queues: ["default"], limit, worker, classes });
}

/** Puts leases aside. Returns how many were lost. */
async function putAside(store: Store, leases: readonly Lease[], worker = LACKING): Promise<number> {
  const { lost } = await store.jobs.settle(
    worker,
    leases.map(({ token, payload }) => ({
      ...{ kind: "aside", token, class: String(getField(payload, "class")), delayMs: HOUR_MS, payload } as const,
    })),
  );
  return lost.length;
}

/** Registers both workers. Pushes jobs, and lets the one that lacks their class take and put them aside. */
async function asides(store: Store, batch: readonly NewJob[]): Promise<void> {
  await register(store, LACKING);
  await register(store, HAVING);
  await store.jobs.enqueue(batch);
  assertEquals(await putAside(store, await take(store, LACKING)), 0);
}

/** Returns the jobs `from` … `to` in a group. */
function groupOf(group: string, from: number, to: number): NewJob[] {
  return jobs(from, to).map((one) => ({
    ...one,
    group,
    payload: one.payload.replace(/}$/, `,"group":${JSON.stringify(group)}}`),
  }));
}

/** Returns the numbers of the jobs of a queue, in all of its places. */
async function allIn(store: Store): Promise<unknown[]> {
  const found = [];
  for (const place of await queuePlaces(store.admin, "default")) found.push(...await numbersIn(store, place));
  return found;
}

export const asideCases: Cases = {
  "a job that was put aside is taken by workers with its class, in order, and by no others": async (open) => {
    await using t = await open();
    await asides(t.store, jobs(1, 5));
    await t.store.jobs.enqueue(jobs(6, 8));
    assertEquals(numbers(await take(t.store, HAVING, 2)), [1, 2]);
    const rest = await take(t.store, LACKING);
    assertEquals(numbers(rest), [6, 7, 8]);
    assertEquals(await putAside(t.store, rest), 0);
    assertEquals(numbers(await take(t.store, LACKING)), []);
    assertEquals(numbers(await take(t.store, HAVING)), [3, 4, 5, 6, 7, 8]);
    assertEquals(await allIn(t.store), []);
  },

  "jobs aside come before the other jobs of their queue": async (open) => {
    await using t = await open();
    await asides(t.store, jobs(1, 3));
    await t.store.jobs.enqueue(jobs(4, 6));
    assertEquals(numbers(await take(t.store, HAVING, 4)), [1, 2, 3, 4]);
  },

  "jobs that workers put aside in any order are taken in the order of their enqueue times": async (open) => {
    await using t = await open();
    await register(t.store, LACKING);
    await register(t.store, HAVING);
    const taken: Lease[] = [];
    for (let n = 1; n <= 6; n++) {
      await t.store.jobs.enqueue([job(n)]);
      t.advance(1_000);
      taken.push(...await take(t.store, LACKING, 1));
    }
    for (const i of [3, 0, 5, 1, 4, 2]) await putAside(t.store, [taken[i]!]);
    assertEquals(numbers(await take(t.store, HAVING)), [1, 2, 3, 4, 5, 6]);
  },

  "a worker without a list of classes takes all": async (open) => {
    await using t = await open();
    await asides(t.store, jobs(1, 2));
    assertEquals(numbers(await takeUpTo(t.store, HAVING)), [1, 2]);
  },

  "the lease of a job aside names its queue and group, to which it returns": async (open) => {
    await using t = await open();
    await asides(t.store, [...jobs(1, 1), ...groupOf("a|b%", 2, 2), ...groupOf("n\0l", 3, 3)]);
    const leases = await take(t.store, HAVING);
    const places = leases.map(({ queue, group }) => [queue, group]).sort();
    assertEquals(places, [["default", undefined], ["default", "a|b%"], ["default", "n\0l"]]);
    await t.store.jobs.settle(HAVING, leases.map(({ token }) => ({ kind: "release", token })));
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default", group: "a|b%" }), [2]);
  },

  "jobs aside count as queued jobs, and are listed, found, edited and deleted": async (open) => {
    await using t = await open();
    await asides(t.store, [...jobs(1, 4), ...groupOf("acme", 5, 5)]);
    const { queues, enqueued, running } = await t.store.admin.stats();
    assertEquals([enqueued, running, queues.map(({ name, size }) => [name, size])], [5, 0, [["default", 5]]]);
    assert(queues[0]!.latencyMs >= 0 && queues[0]!.heldGroups === undefined);
    assertEquals(queues[0]!.aside, 5);
    assertEquals((await allIn(t.store)).sort(), [1, 2, 3, 4, 5]);
    const found = await t.store.jobs.find([job(2).jid, job(5).jid]);
    assertEquals(found.map(({ place }) => place.in === "queue" && place.queue), ["default", "default"]);
    assertEquals((await t.store.admin.get(found.map(({ ref }) => ref))).map((entry) => entry !== undefined), [
      true,
      true,
    ]);
    assertEquals(await t.store.jobs.edit([found[0]!.ref], "delete"), 1);
    const [third] = await t.store.jobs.find([job(3).jid]);
    assertEquals(await t.store.jobs.edit([third!.ref], "kill"), 1);
    const [fourth] = await t.store.jobs.find([job(4).jid]);
    assertEquals(await t.store.jobs.edit([fourth!.ref], "requeue", "other"), 1);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "other" }), [4]);
    assertEquals(numbers(await entries(t.store, { in: "dead" })), [3]);
    assertEquals((await t.store.admin.stats()).enqueued, 3);
    for (const place of await queuePlaces(t.store.admin, "default")) {
      await t.store.jobs.edit({ in: place, limit: 10 }, "delete");
    }
    assertEquals((await t.store.admin.stats()).enqueued, 1);
    assertEquals(numbers(await take(t.store, HAVING)), []);
    assertEquals(await t.store.admin.configure("default", { forget: true }), true);
  },

  "a worker has work if jobs wait aside for one of its classes": async (open) => {
    await using t = await open();
    await asides(t.store, jobs(1, 1));
    assertEquals(await t.store.jobs.hasQueuedJobs(["default"], ["Mail"]), false);
    assertEquals(await t.store.jobs.hasQueuedJobs(["default"], ["Mail", "HardJob"]), true);
    assertEquals(await t.store.jobs.hasQueuedJobs(["default"]), true);
    const signal = AbortSignal.timeout(60_000);
    assertEquals(await t.store.watch({ work: ["default"], classes: ["HardJob"] }, signal), true);
    // The other one waits for another job.
    await woken(
      (stop) => t.store.watch({ work: ["default"], classes: ["Mail"] }, stop),
      () => t.store.jobs.enqueue([job(2)]),
    );
    assertEquals(numbers(await take(t.store, LACKING)), [2]);
  },

  "a job that is put aside wakes a worker with its class on another connection": async (open) => {
    await using t = await open();
    const other = await t.another();
    await register(t.store, LACKING);
    await register(t.store, HAVING);
    await t.store.jobs.enqueue([job(1)]);
    const leases = await take(t.store, LACKING);
    const isWoken = await woken(
      (signal) => other.watch({ work: ["default"], classes: ["HardJob"] }, signal),
      () => putAside(t.store, leases),
    );
    assertEquals(isWoken, true);
    assertEquals(numbers(await take(other, HAVING)), [1]);
  },

  "a paused queue or group gives no jobs aside": async (open) => {
    await using t = await open();
    await asides(t.store, [...jobs(1, 1), ...groupOf("acme", 2, 2)]);
    await t.store.admin.configure("default", { pause: true });
    assertEquals(numbers(await take(t.store, HAVING)), []);
    assertEquals(await t.store.jobs.hasQueuedJobs(["default"], ["HardJob"]), false);
    await t.store.admin.configure("default", { pause: false });
    await t.store.admin.configure("default", { pause: true, group: "acme" });
    assertEquals(numbers(await take(t.store, HAVING)), [1]);
    assertEquals(await t.store.jobs.hasQueuedJobs(["default"], ["HardJob"]), false);
    const resumed = await woken(
      (signal) => t.store.watch({ work: ["default"], classes: ["HardJob"] }, signal),
      () => t.store.admin.configure("default", { pause: false, group: "acme" }),
    );
    assertEquals(resumed, true);
    assertEquals(numbers(await take(t.store, HAVING)), [2]);
  },

  "limits of running jobs count jobs aside with the others": async (open) => {
    await using t = await open();
    await t.store.admin.configure("default", { limit: { running: 1 }, group: "acme" });
    await register(t.store, LACKING);
    await register(t.store, HAVING);
    await t.store.jobs.enqueue(groupOf("acme", 1, 3));
    await putAside(t.store, await take(t.store, LACKING));
    // It has left room for the next one.
    await putAside(t.store, await take(t.store, LACKING));
    const [first, ...none] = await take(t.store, HAVING);
    assertEquals([numbers([first!]), none.length], [[1], 0]);
    assertEquals(numbers(await take(t.store, LACKING)), []);
    const isWoken = await woken(
      (signal) => t.store.watch({ work: ["default"], classes: ["HardJob"] }, signal),
      () => t.store.jobs.settle(HAVING, [{ kind: "ack", token: first!.token }]),
    );
    assertEquals([isWoken, numbers(await take(t.store, HAVING))], [true, [2]]);
    await t.store.admin.configure("default", { limit: { running: 1 } });
    assertEquals(numbers(await take(t.store, HAVING)), []);
  },

  "a job that was put aside doesn't count as a start": async (open) => {
    await using t = await open();
    await t.store.admin.configure("default", { limit: { starts: { count: 2, perMs: HOUR_MS } } });
    await t.store.admin.configure("default", { limit: { starts: { count: 2, perMs: HOUR_MS } }, eachGroup: true });
    await asides(t.store, groupOf("acme", 1, 3));
    assertEquals((await t.store.admin.stats()).queues[0]!.limit!.started, 0);
    assertEquals(numbers(await take(t.store, HAVING)), [1, 2]);
    assertEquals(numbers(await take(t.store, HAVING)), []);
  },

  "places aside have turns: many jobs of one group don't delay those of others": async (open) => {
    await using t = await open();
    await asides(t.store, [...groupOf("large", 1, 40), ...groupOf("small", 41, 42), ...jobs(43, 44)]);
    const taken: unknown[] = [];
    for (let i = 0; i < 6; i++) taken.push(...numbers(await take(t.store, HAVING, 1)));
    assertEquals(taken.toSorted((a, b) => Number(a) - Number(b)), [1, 2, 41, 42, 43, 44]);
    await putAside(t.store, await takeUpTo(t.store, HAVING, 1), HAVING);
  },

  "jobs aside of a priority are taken as such": async (open) => {
    await using t = await open();
    const high = jobs(1, 1).map((one) => ({
      ...one,
      group: laneOf("high"),
      payload: one.payload.replace(/}$/, `,"priority":"high"}`),
    }));
    await asides(t.store, high);
    const [lease] = await take(t.store, HAVING);
    assertEquals([lease!.group, numbers([lease!])], [laneOf("high"), [1]]);
  },

  "a cancelled job isn't put aside": async (open) => {
    await using t = await open();
    await register(t.store, LACKING);
    await t.store.jobs.enqueue([job(1)]);
    const [lease] = await take(t.store, LACKING);
    const [entry] = await t.store.jobs.find([job(1).jid]);
    await t.store.workers.send(LACKING, { id: "c", verb: "cancel", jid: job(1).jid, ref: entry!.ref });
    assertEquals(await putAside(t.store, [lease!]), 0);
    assertEquals((await t.store.admin.stats()).enqueued, 0);
    assertEquals((await t.store.jobs.find([job(1).jid])).map(({ cancelled }) => cancelled), [true]);
  },

  "a lost lease isn't put aside, and a job taken from a place aside is rescued": async (open) => {
    await using t = await open();
    await register(t.store, LACKING);
    await t.store.jobs.enqueue(jobs(1, 2));
    const leases = await take(t.store, LACKING, 1);
    await lapse(t);
    assertEquals(await rescueAll(t.store), 1);
    assertEquals(await putAside(t.store, leases), 1);
    await asides(t.store, []);
    assertEquals(numbers(await take(t.store, HAVING)), [1, 2]);
    await lapse(t);
    assertEquals(await rescueAll(t.store), 2);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1, 2]);
  },
};
