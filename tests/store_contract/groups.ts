/**
 * Groups of a queue: turns, shares, limits of each group and of one.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { laneOf, priorityIn } from "../../src/job/priority.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { Lease, NewJob } from "../../src/store/port/jobs.ts";
import { shareOf } from "../../src/store/port/fair_shares.ts";
import { separateLimit } from "../../src/store/port/groups.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import {
  HOUR_MS,
  job,
  jobs,
  lapse,
  LAPSE_MS,
  numbers,
  numbersIn,
  register,
  rescueAll,
  rescueFor,
  RESCUER,
  takeUpTo,
  TTL_MS,
  woken,
} from "./jobs.ts";

/** Returns the n-th job in a group. */
function grouped(n: number, group: string, change: Partial<NewJob> = {}): NewJob {
  const one = job(n, change);
  return { ...one, group, payload: one.payload.replace(/}$/, `,"group":${JSON.stringify(group)}}`) };
}

/** Returns the jobs `from` … `to` in a group. */
function groupOf(group: string, from: number, to: number): NewJob[] {
  return Array.from({ length: to - from + 1 }, (_, i) => grouped(from + i, group));
}

/** Returns the number of leases per group. */
function shares(leases: readonly Lease[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { group = "-" } of leases) counts[group] = (counts[group] ?? 0) + 1;
  return counts;
}

/** Returns the fair share of each group that has one, and of the jobs without a group. Each is read alone. */
async function fairShares(store: Store): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  let cursor: string | undefined;
  do {
    const page = await store.admin.groups("default", { limit: 1, ...(cursor !== undefined && { cursor }) });
    for (const { name, fairShare } of page.groups) if (fairShare !== undefined) found[name] = fairShare;
    if (page.ungroupedFairShare !== undefined) found["-"] = page.ungroupedFairShare;
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}

/** Returns the numbers of jobs in their order. */
function sorted(leases: readonly Lease[]): number[] {
  return (numbers(leases) as number[]).toSorted((a, b) => a - b);
}

/** Returns the jobs `from` … `to` with a priority. */
function prioritized(priority: "high" | "low", from: number, to: number): NewJob[] {
  return Array.from({ length: to - from + 1 }, (_, i) => {
    const one = job(from + i);
    return { ...one, group: laneOf(priority), payload: one.payload.replace(/}$/, `,"priority":"${priority}"}`) };
  });
}

export const groups: Cases = {
  "groups of any name, also with a NUL, are listed apart, in a queue of any name": async (open) => {
    await using t = await open();
    const queue = "straße 🚚";
    const names = ["a", "a\0b", "a\0c", "\0", "🚚\0"];
    await t.store.jobs.enqueue(
      names.flatMap((name, i) => jobs(10 * i + 1, 10 * i + 1 + i, { queue }).map((job) => ({ ...job, group: name }))),
    );
    const found: [string, number][] = [];
    let cursor: string | undefined;
    do {
      const page = await t.store.admin.groups(queue, { limit: 2, ...(cursor !== undefined && { cursor }) });
      for (const { name, size } of page.groups) found.push([name, size]);
      cursor = page.next;
    } while (cursor !== undefined);
    assertEquals(found.toSorted(), names.map((name, i): [string, number] => [name, i + 1]).toSorted());
    const { queues: [one] } = await t.store.admin.stats({ queues: [queue], groups: 2 });
    assertEquals(one!.groups!.largest.map(({ name, size }) => [name, size]), [["🚚\0", 5], ["\0", 4]]);
    const slowest = (await t.store.admin.groups(queue, { withSlowest: true })).slowest?.name;
    assert(names.includes(slowest!), JSON.stringify(slowest));
  },

  "takes from the groups of a queue in turn, oldest job first, for any number of jobs of one": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([...groupOf("big", 1, 1_000), ...groupOf("small", 1_001, 1_003)]);
    const first = await takeUpTo(t.store, worker, 4);
    assertEquals(shares(first), { big: 2, small: 2 });
    assertEquals(first.map(({ queue }) => queue), Array(4).fill("default"));
    assertEquals(sorted(first), [1, 2, 1_001, 1_002]);
    assertEquals(shares(await takeUpTo(t.store, worker, 4)), { big: 3, small: 1 });
    assertEquals((await t.store.admin.stats()).queues.map(({ name, size }) => [name, size]), [["default", 995]]);
  },

  "a limit or a pause doesn't let a take lease a job twice": async (open) => {
    for (const kind of ["limit", "pause"]) {
      await using t = await open();
      const worker = await register(t.store);
      let pushed = 0;
      const push = (group: string, count: number) => t.store.jobs.enqueue(groupOf(group, pushed + 1, pushed += count));
      for (let i = 0; i < 30; i++) await push(`g${i}`, 60);
      if (kind === "limit") await t.store.admin.configure("default", { group: "g29", limit: { running: 1_000 } });
      else {
        await t.store.admin.configure("default", { group: "paused", pause: true });
        await t.store.jobs.enqueue([grouped(100_000, "paused")]);
      }
      const taken: unknown[] = [];
      const take = async (limit: number, minTurn: number) => {
        const leases = await t.store.jobs.take({ queues: ["default"], limit, worker, minTurn });
        taken.push(...numbers(leases));
        return leases.length;
      };
      // A group that arrives late has its turns before those that have had many.
      for (let round = 0; round < 4; round++) {
        await push(`late${round}`, 40);
        for (const [limit, minTurn] of [[50, 16], [7, 1], [100, 16], [20, 1], [33, 16], [60, 1]]) {
          await take(limit!, minTurn!);
        }
      }
      while (await take(100, 16) > 0);
      assertEquals(taken.length, pushed, kind);
      assertEquals(new Set(taken).size, pushed, kind);
    }
  },

  "jobs without a group are one group among the others": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([...groupOf("a", 1, 10), ...groupOf("b", 11, 20), ...jobs(21, 30)]);
    for (let i = 0; i < 3; i++) assertEquals(shares(await takeUpTo(t.store, worker, 6)), { a: 2, b: 2, "-": 2 });
  },

  "weights share a queue within five per cent": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { group: "paying", limit: { weight: 3 } });
    await t.store.jobs.enqueue([...groupOf("free", 1, 400), ...groupOf("paying", 401, 800)]);
    const taken: Lease[] = [];
    for (let i = 0; i < 40; i++) taken.push(...await takeUpTo(t.store, worker, 10));
    const { free, paying } = shares(taken);
    assert(Math.abs(paying! / free! - 3) < 0.15, `${paying}:${free}`);
  },

  "a group that was idle doesn't catch up": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([grouped(1, "late"), ...groupOf("busy", 2, 300)]);
    for (let i = 0; i < 15; i++) await takeUpTo(t.store, worker, 10);
    await t.store.jobs.enqueue(groupOf("late", 301, 400));
    const taken: Lease[] = [];
    for (let i = 0; i < 12; i++) taken.push(...await takeUpTo(t.store, worker, 10));
    const { busy, late } = shares(taken);
    assert(Math.abs(busy! - late!) <= 20, `${busy}:${late}`);
  },

  "all workers together respect the limit of each group, and a full group doesn't delay the others": async (
    open,
  ) => {
    await using t = await open();
    const other = await t.another();
    const [one, two] = [await register(t.store, "one:1:a"), await register(other, "two:2:b")];
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 2 } });
    await t.store.jobs.enqueue([...groupOf("a", 1, 500), ...groupOf("b", 501, 503), grouped(504, "c")]);
    const first = await takeUpTo(t.store, one, 4);
    const second = await takeUpTo(other, two, 100);
    assertEquals(shares([...first, ...second]), { a: 2, b: 2, c: 1 });
    assertEquals(await takeUpTo(t.store, one), []);
    const a = first.find(({ group }) => group === "a")!;
    await t.store.jobs.settle(one, [{ kind: "ack", token: a.token }]);
    assertEquals(shares(await takeUpTo(other, two)), { a: 1 });
  },

  "after any end of a job, another of its group may run": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
    await t.store.jobs.enqueue(groupOf("a", 1, 7));
    const payload = grouped(0, "a").payload;
    const delayMs = HOUR_MS;
    for (
      const [i, end] of ([
        { kind: "ack" },
        { kind: "discard" },
        { kind: "retry", delayMs, payload },
        { kind: "snooze", delayMs, payload },
        { kind: "bury", payload },
        { kind: "release" },
      ] as const).entries()
    ) {
      const [lease, ...more] = await takeUpTo(t.store, worker);
      assertEquals([numbers([lease!]), more], [[i + 1], []], end.kind);
      await t.store.jobs.settle(worker, [{ ...end, token: lease!.token }]);
    }
    assertEquals(numbers(await takeUpTo(t.store, worker)), [6], "a released job is at the front of its group");
  },

  "leases of an offline worker count until they are rescued, and return to the front of their groups": async (open) => {
    await using t = await open();
    const dead = await register(t.store, "dead:1:a");
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 2 } });
    await t.store.jobs.enqueue([...groupOf("a", 1, 5), ...groupOf("b", 6, 6)]);
    assertEquals(shares(await takeUpTo(t.store, dead)), { a: 2, b: 1 });
    await lapse(t);
    const worker = await register(t.store, "live:2:b");
    assertEquals(await takeUpTo(t.store, worker), []);
    assertEquals((await rescueFor(t.store)).rescued, 3);
    assertEquals(sorted(await takeUpTo(t.store, worker)), [1, 2, 6]);
    await t.store.workers.deregister(worker);
    const next = await register(t.store, "next:3:c");
    assertEquals(sorted(await takeUpTo(t.store, next)), [1, 2, 6]);
  },

  "respects the limit of starts of a group": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { eachGroup: true, limit: { starts: { count: 3, perMs: HOUR_MS } } });
    await t.store.jobs.enqueue([...groupOf("a", 1, 10), ...groupOf("b", 11, 12)]);
    assertEquals(shares(await takeUpTo(t.store, worker)), { a: 3, b: 2 });
    assertEquals(await takeUpTo(t.store, worker), []);
    t.advance(HOUR_MS / 2);
    await register(t.store);
    assertEquals(await takeUpTo(t.store, worker), []);
    t.advance(HOUR_MS / 2 + 60_000);
    await register(t.store);
    assertEquals(shares(await takeUpTo(t.store, worker)), { a: 3 });
  },

  "a clock that is set back holds no group for longer than its period": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { eachGroup: true, limit: { starts: { count: 2, perMs: HOUR_MS } } });
    // More than one step makes ready.
    const names = Array.from({ length: 120 }, (_, i) => `g${i}`);
    const take = async () => {
      let count = 0;
      for (let leases; (leases = await takeUpTo(t.store, worker, 500)).length > 0;) count += leases.length;
      return count;
    };
    await t.store.jobs.enqueue(names.flatMap((name, i) => groupOf(name, 10 * i + 1, 10 * i + 6)));
    assertEquals(await take(), 240);
    t.advance(-10 * HOUR_MS);
    await register(t.store);
    // A waiter tries to take at once, which fixes the time of the next start.
    await woken((signal) => t.store.watch({ work: ["default"] }, signal), () => Promise.resolve());
    for (let i = 0; i < 5; i++) assertEquals(await take(), 0);
    t.advance(HOUR_MS + SLACK_MS);
    await register(t.store);
    await woken((signal) => t.store.watch({ work: ["default"] }, signal), () => Promise.resolve());
    // A step makes a number of groups ready.
    assertEquals(await take() + await take(), 240);
  },

  "after a clock was set back, a paused group whose limit was removed wakes no waiter again and again": async (
    open,
  ) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { group: "a", limit: { starts: { count: 2, perMs: HOUR_MS } } });
    await t.store.jobs.enqueue(groupOf("a", 1, 6));
    assertEquals((await takeUpTo(t.store, worker)).length, 2);
    await t.store.admin.configure("default", { group: "a", limit: {} });
    await t.store.admin.configure("default", { group: "a", pause: HOUR_MS });
    assertEquals(await takeUpTo(t.store, worker), []);
    t.advance(-10 * HOUR_MS);
    await register(t.store);
    assertEquals(await takeUpTo(t.store, worker), []);
    const stop = new AbortController();
    const waiting = t.store.watch({ work: ["default"] }, stop.signal);
    // The look of the wait comes first.
    await t.store.admin.stats();
    stop.abort();
    assertEquals(await waiting, false);
  },

  "starts count while a group has no jobs": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { eachGroup: true, limit: { starts: { count: 1, perMs: HOUR_MS } } });
    await t.store.jobs.enqueue([grouped(1, "a")]);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }]);
    await t.store.jobs.enqueue(groupOf("b", 2, 2));
    await takeUpTo(t.store, worker);
    await t.store.jobs.enqueue([grouped(3, "a")]);
    assertEquals(await takeUpTo(t.store, worker), []);
  },

  "a limit of one group replaces that of each group until it ends": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
    await t.store.admin.configure("default", { group: "a", limit: { running: 3, forMs: HOUR_MS } });
    await t.store.jobs.enqueue([...groupOf("a", 1, 10), ...groupOf("b", 11, 20)]);
    const leases = await takeUpTo(t.store, worker);
    assertEquals(shares(leases), { a: 3, b: 1 });
    t.advance(HOUR_MS + 60_000);
    await register(t.store);
    const [first, second, third] = leases.filter(({ group }) => group === "a");
    await t.store.jobs.settle(worker, [{ kind: "ack", token: first!.token }, { kind: "ack", token: second!.token }]);
    assertEquals(await takeUpTo(t.store, worker), [], "one of it still runs, which is as many as it may");
    await t.store.jobs.settle(worker, [{ kind: "ack", token: third!.token }]);
    assertEquals(shares(await takeUpTo(t.store, worker)), { a: 1 });
  },

  "a group with just a weight keeps the limit of each group": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { group: "vip", limit: { weight: 3 } });
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 2 } });
    await t.store.jobs.enqueue([...groupOf("a", 1, 5), ...groupOf("vip", 6, 10)]);
    assertEquals(shares(await takeUpTo(t.store, worker)), { a: 2, vip: 2 });
    const vip = async () => (await t.store.admin.groups("default", { group: "vip" })).groups[0]!;
    const { isOwn, sharesLimit, weight, limit } = await vip();
    assertEquals([isOwn, sharesLimit, weight, limit?.running], [true, true, 3, 2]);
    assertEquals(separateLimit(await vip()), { weight: 3 });
    await t.store.admin.configure("default", { group: "vip", limit: { running: 4, weight: 3 } });
    assertEquals(shares(await takeUpTo(t.store, worker)), { vip: 2 });
    assertEquals(separateLimit(await vip()), { running: 4, weight: 3 });
  },

  "a group with a limit for a time has room as soon as one of its jobs ends": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { group: "a", limit: { running: 1, forMs: 30 * 24 * HOUR_MS } });
    await t.store.jobs.enqueue(groupOf("a", 1, 3));
    const [lease] = await takeUpTo(t.store, worker);
    assertEquals(await takeUpTo(t.store, worker), []);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }]);
    assertEquals(shares(await takeUpTo(t.store, worker)), { a: 1 });
  },

  "a changed or removed limit strands no job, and counts running jobs": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(groupOf("a", 1, 10));
    assertEquals((await takeUpTo(t.store, worker, 3)).length, 3);
    await t.store.admin.configure("default", { group: "a", limit: { running: 3 } });
    assertEquals(await takeUpTo(t.store, worker), []);
    await t.store.admin.configure("default", { group: "a", limit: { running: 4 } });
    assertEquals((await takeUpTo(t.store, worker)).length, 1);
    await t.store.admin.configure("default", { group: "a", limit: {} });
    const unlimited = await takeUpTo(t.store, worker);
    assertEquals(unlimited.length, 6);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 10 } });
    await t.store.jobs.enqueue(groupOf("a", 11, 12));
    assertEquals(
      await takeUpTo(t.store, worker),
      [],
      "the running jobs count that were taken while there was no limit",
    );
    await t.store.jobs.settle(worker, [{ kind: "ack", token: unlimited[0]!.token }]);
    assertEquals((await takeUpTo(t.store, worker)).length, 1);
  },

  "a group without queued jobs keeps its running ones, also without limits": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([...groupOf("a", 1, 2), ...groupOf("b", 3, 4)]);
    const leases = await takeUpTo(t.store, worker);
    for (const n of [5, 6, 7]) {
      await t.store.jobs.enqueue(groupOf("c", n, n));
      const [lease] = await takeUpTo(t.store, worker);
      await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }]);
    }
    const { groups } = await t.store.admin.groups("default", {});
    assertEquals(groups.map(({ name, size, running }) => ({ name, size, running })), [
      { name: "a", size: 0, running: 2 },
      { name: "b", size: 0, running: 2 },
    ]);
    await t.store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "release", token })));
    assertEquals(shares(await takeUpTo(t.store, worker)), { a: 2, b: 2 });
  },

  "the limit of a queue applies to all its groups together": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { limit: { running: 3 } });
    await t.store.jobs.enqueue([...groupOf("a", 1, 5), ...groupOf("b", 6, 10)]);
    const leases = await takeUpTo(t.store, worker);
    assertEquals(leases.length, 3);
    assertEquals(await takeUpTo(t.store, worker), []);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: leases[0]!.token }]);
    assertEquals((await takeUpTo(t.store, worker)).length, 1);
  },

  "a paused queue gives no jobs of its groups": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(groupOf("a", 1, 2));
    await t.store.admin.configure("default", { pause: true });
    assertEquals(await takeUpTo(t.store, worker), []);
    await t.store.admin.configure("default", { pause: false });
    assertEquals((await takeUpTo(t.store, worker)).length, 2);
  },

  "a paused group's jobs wait until it is resumed, while the others are taken": async (open) => {
    await using t = await open();
    const other = await t.another();
    const [one, two] = [await register(t.store, "one:1:a"), await register(other, "two:2:b")];
    await t.store.jobs.enqueue([...groupOf("a", 1, 5), ...groupOf("b", 6, 9), job(10)]);
    const first = await takeUpTo(t.store, one, 3);
    assertEquals(shares(first), { a: 1, b: 1, "-": 1 });
    await t.store.admin.configure("default", { group: "a", pause: true });
    assertEquals(shares(await takeUpTo(other, two)), { b: 3 });
    await t.store.jobs.settle(one, first.map(({ token }) => ({ kind: "ack", token })));
    await t.store.jobs.enqueue(groupOf("a", 11, 12));
    assertEquals(await takeUpTo(t.store, one), [], "neither the end of a job nor a push ends the pause");
    const [info] = (await t.store.admin.groups("default", { isSet: true })).groups;
    assertEquals([info!.name, info!.size, info!.paused, info!.pausedForMs], ["a", 6, true, undefined]);
    await woken(
      (signal) => t.store.watch({ work: ["default"] }, signal),
      () => other.admin.configure("default", { group: "a", pause: false }),
    );
    assertEquals(shares(await takeUpTo(t.store, one)), { a: 6 });
    assertEquals((await t.store.admin.groups("default", { isSet: true })).groups, []);
  },

  "the pause of a group ends by itself, and the last call counts": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { group: "a", pause: 10 * HOUR_MS });
    await t.store.admin.configure("default", { group: "a", pause: HOUR_MS });
    await t.store.jobs.enqueue(groupOf("a", 1, 2));
    assertEquals(await takeUpTo(t.store, worker), []);
    const paused = async () => (await t.store.admin.groups("default", { group: "a" })).groups[0]!;
    assertEquals([(await paused()).paused, (await paused()).pausedForMs! <= HOUR_MS], [true, true]);
    await t.advance(HOUR_MS + 1);
    assertEquals((await paused()).paused, false);
    await register(t.store); // its heartbeat has lapsed
    assertEquals((await takeUpTo(t.store, worker)).length, 2);
  },

  "a paused group keeps its limit, and a burst doesn't wait for its jobs": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { group: "a", limit: { running: 2 } });
    await t.store.admin.configure("default", { group: "a", pause: true });
    await t.store.jobs.enqueue(groupOf("a", 1, 5));
    assertEquals(await t.store.jobs.hasQueuedJobs(["default"]), false);
    await t.store.jobs.enqueue(groupOf("b", 6, 6));
    assertEquals(await t.store.jobs.hasQueuedJobs(["default"]), true);
    assertEquals(shares(await takeUpTo(t.store, worker)), { b: 1 });
    assertEquals(await t.store.jobs.hasQueuedJobs(["default"]), false);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 9 } });
    assertEquals(await takeUpTo(t.store, worker), [], "a new limit doesn't end the pause");
    await t.store.admin.configure("default", { group: "a", pause: false });
    assertEquals(shares(await takeUpTo(t.store, worker)), { a: 2 });
  },

  "a queue with a paused group isn't forgotten, and nothing is left of a pause that ended": async (open) => {
    await using t = await open();
    await t.store.admin.configure("default", { group: "a", pause: HOUR_MS });
    assertEquals(await t.store.admin.configure("default", { forget: true }), false);
    assertEquals((await t.store.admin.stats()).queues.map((queue) => queue.hasGroupSettings), [true]);
    await t.advance(HOUR_MS + 1);
    await t.store.admin.configure("default", { group: "b", pause: true });
    await t.store.admin.configure("default", { group: "b", pause: false });
    await t.store.admin.configure("default", { forget: true });
    assertEquals((await t.store.admin.stats()).queues, []);
  },

  "priorities share a queue 100 : 10 : 1, so that none starves": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([...prioritized("low", 1, 200), ...jobs(201, 400), ...prioritized("high", 401, 600)]);
    const taken: Lease[] = [];
    for (let i = 0; i < 111; i++) taken.push(...await takeUpTo(t.store, worker, 1));
    const { "|high": high, "-": normal, "|low": low } = shares(taken);
    assert(
      Math.abs(high! - 100) <= 2 && Math.abs(normal! - 10) <= 1 && low! >= 1 && low! <= 2,
      `${high}:${normal}:${low}`,
    );
    assertEquals(numbers(taken.filter(({ group }) => group === "|high")).slice(0, 3), [401, 402, 403]);
    for (let i = 0; i < 20; i++) taken.push(...await takeUpTo(t.store, worker, 100));
    assertEquals(taken.length, 600);
    assertEquals((await t.store.admin.groups("default")).ungrouped, 0);
  },

  "jobs of high priority that arrive one at a time don't starve the others": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([...jobs(1, 50), ...groupOf("a", 51, 100)]);
    const taken: Lease[] = [];
    for (let i = 0; i < 110; i++) {
      await t.store.jobs.enqueue(prioritized("high", 101 + i, 101 + i));
      taken.push(...await takeUpTo(t.store, worker, 1));
    }
    const { "|high": high, "-": normal, a } = shares(taken);
    assertEquals(high! + normal! + a!, 110);
    assert(normal! >= 8 && a! >= 8 && high! >= 80, `${high}:${normal}:${a}`);
  },

  "one at a time, next to jobs without a group alone, high priority gets its share and no more": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 50));
    const taken: Lease[] = [];
    for (let i = 0; i < 110; i++) {
      await t.store.jobs.enqueue(prioritized("high", 101 + i, 101 + i));
      taken.push(...await takeUpTo(t.store, worker, 1));
    }
    const { "|high": high, "-": normal } = shares(taken);
    assert(normal! >= 8 && high! >= 90, `${high}:${normal}`);
    taken.push(...await takeUpTo(t.store, worker, 100));
    assertEquals(taken.length, 160);
    await t.store.jobs.settle(worker, taken.map(({ token }) => ({ kind: "ack", token })));
    assertEquals((await t.store.admin.groups("default")).groups, []);
    assertEquals(await t.store.admin.configure("default", { forget: true }), true, "no state is left");
  },

  "a job of high priority is taken before those pushed earlier, and one of low priority after later ones": async (
    open,
  ) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([...jobs(1, 200), ...prioritized("low", 201, 201)]);
    assertEquals((await takeUpTo(t.store, worker, 50)).length, 50);
    await t.store.jobs.enqueue([...prioritized("high", 202, 203), ...jobs(204, 300)]);
    assertEquals(numbers(await takeUpTo(t.store, worker, 2)), [202, 203]);
    assertEquals((await t.store.admin.stats()).queues.map(({ size }) => size), [248]);
  },

  "jobs keep their priority over a retry, a release and a requeue; limits of groups don't apply to it": async (
    open,
  ) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
    const place = { in: "queue", queue: "default", group: laneOf("high") } as const;
    await t.store.jobs.enqueue([...prioritized("high", 1, 3), ...jobs(4, 6)]);
    const leases = await takeUpTo(t.store, worker);
    assertEquals(shares(leases), { "|high": 3, "-": 3 });
    const [retried, released, ended] = leases.filter(({ group }) => group !== undefined);
    await t.store.jobs.settle(worker, [
      { ...retried!, kind: "retry", delayMs: 1_000 },
      { kind: "release", token: released!.token },
      { kind: "ack", token: ended!.token },
    ]);
    t.advance(60_000);
    await t.store.jobs.promote(10);
    assertEquals(await numbersIn(t.store, place), [2, 1]);
    const [two] = (await t.store.admin.page(place)).entries;
    assertEquals(await t.store.jobs.edit([two!.ref], "requeue"), 1);
    assertEquals(await numbersIn(t.store, place), [1, 2]);
    assertEquals(
      (await t.store.admin.groups("default")).groups.map((
        { name, size, weight, limit },
      ) => [name, size, weight, limit]),
      [["|high", 2, 10, undefined]],
    );
  },

  "a due retry and a requeued job go to the end of their group": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(groupOf("a", 1, 3));
    const [lease] = await takeUpTo(t.store, worker, 1);
    await t.store.jobs.settle(worker, [{ ...lease!, kind: "retry", delayMs: 1_000 }]);
    t.advance(60_000);
    await t.store.jobs.promote(10);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default", group: "a" }), [2, 3, 1]);
    const [two] = (await t.store.admin.page({ in: "queue", queue: "default", group: "a" })).entries;
    assertEquals(await t.store.jobs.edit([two!.ref], "requeue"), 1);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default", group: "a" }), [3, 1, 2]);
    assertEquals(numbers(await takeUpTo(t.store, worker)), [3, 1, 2]);
  },

  "jobs of a group can be found, located, deleted and killed": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([...groupOf("a|b", 1, 4), job(5)]);
    const place = { in: "queue", queue: "default", group: "a|b" } as const;
    const [found] = await t.store.jobs.find([job(3).jid]);
    assertEquals(found!.place, place);
    const [entry] = await t.store.admin.get([found!.ref], { before: 10 });
    assertEquals([entry?.before, entry?.place], [2, place]);
    assertEquals((await t.store.jobs.find({ text: "hardjob", limit: 10 })).length, 5);
    assertEquals(await t.store.jobs.edit([found!.ref], "delete"), 1);
    assertEquals(await t.store.jobs.edit({ in: place, limit: 10 }, "kill"), 3);
    const { queues, dead } = await t.store.admin.stats();
    assertEquals([queues.map(({ size }) => size), dead], [[1], 3]);
    const worker = await register(t.store);
    assertEquals(numbers(await takeUpTo(t.store, worker)), [5]);
  },

  "groups are listed with their jobs, running jobs and limits": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 2 } });
    await t.store.admin.configure("default", { group: "vip", limit: { running: 10, weight: 3, forMs: HOUR_MS } });
    await t.store.jobs.enqueue([...groupOf("a", 1, 5), ...groupOf("b", 6, 6), job(7)]);
    await takeUpTo(t.store, worker);
    await t.store.jobs.enqueue([job(8)]);
    const { groups, each, ungrouped } = await t.store.admin.groups("default");
    assertEquals([each, ungrouped], [{ running: 2 }, 1]);
    assertEquals(
      groups.map((
        { name, size, running, weight, isOwn, limit },
      ) => [name, size, running, weight, isOwn, limit?.freeInMs]),
      [["a", 3, 2, 1, false, undefined], ["b", 0, 1, 1, false, 0], ["vip", 0, 0, 3, true, 0]],
    );
    assert(groups[2]!.endsInMs! > HOUR_MS / 2);
    const first = await t.store.admin.groups("default", { limit: 2 });
    assertEquals([first.groups.length, first.next], [2, "b"]);
    const rest = await t.store.admin.groups("default", { cursor: first.next! });
    assertEquals([rest.groups.map(({ name }) => name), rest.next], [["vip"], undefined]);
    assertEquals((await t.store.admin.groups("default", { group: "none" })).groups[0]!.size, 0);
  },

  "a group's fair share is its part of the weights of all groups that have turns": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const shares = () => fairShares(t.store);
    await t.store.admin.configure("default", { group: "vip", limit: { weight: 3 } });
    await t.store.admin.configure("default", { group: "idle", limit: { weight: 1_000 } });
    await t.store.jobs.enqueue([...groupOf("a", 1, 2), ...groupOf("b", 3, 4), ...groupOf("vip", 5, 6)]);
    assertEquals(await shares(), { a: shareOf(1, 5), b: shareOf(1, 5), vip: shareOf(3, 5) });
    await t.store.jobs.enqueue(jobs(7, 9));
    await t.store.jobs.enqueue([...prioritized("high", 10, 11), ...prioritized("low", 12, 12)]);
    const total = 1 + 1 + 3 + 1 + 10 + 0.1;
    const all = {
      a: shareOf(1, total),
      b: shareOf(1, total),
      vip: shareOf(3, total),
      "-": shareOf(1, total),
    };
    assertEquals(await shares(), { ...all, "|high": shareOf(10, total), "|low": shareOf(0.1, total) });

    await t.store.admin.configure("default", { group: "a", pause: HOUR_MS });
    const { a, vip } = await shares();
    assertEquals([a, vip], [undefined, shareOf(3, total - 1)], "a paused group has no turns");
    t.advance(HOUR_MS + 1);
    assertEquals((await shares()).vip, shareOf(3, total));

    await register(t.store, worker);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
    const taken = await takeUpTo(t.store, worker, 100);
    const jobOf = (group: string) => taken.find((lease) => lease.group === group)!.token;
    await t.store.jobs.enqueue([grouped(13, "new"), job(14)]);
    assertEquals(await shares(), {
      new: shareOf(1, 2),
      "-": shareOf(1, 2),
    });
    await t.store.jobs.settle(worker, [{ kind: "ack", token: jobOf("vip") }]);
    assertEquals(await shares(), {
      new: shareOf(1, 5),
      vip: shareOf(3, 5),
      "-": shareOf(1, 5),
    });
  },

  "the weight of each group counts in fair shares, and one that has ended doesn't": async (open) => {
    await using t = await open();
    await t.store.admin.configure("default", { eachGroup: true, limit: { weight: 2 } });
    await t.store.admin.configure("default", { group: "more", limit: { weight: 8, forMs: HOUR_MS } });
    await t.store.jobs.enqueue([grouped(1, "a"), grouped(2, "b"), grouped(3, "more")]);
    assertEquals(await fairShares(t.store), { a: shareOf(2, 12), b: shareOf(2, 12), more: shareOf(8, 12) });
    t.advance(HOUR_MS + 1);
    assertEquals(await fairShares(t.store), { a: shareOf(1, 3), b: shareOf(1, 3), more: shareOf(1, 3) });
  },

  "a group that its running jobs fill has no fair share before its next turn holds it": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
    await t.store.jobs.enqueue([...groupOf("a", 1, 2), ...groupOf("b", 3, 4), ...groupOf("c", 5, 6)]);
    assertEquals(shares(await takeUpTo(t.store, worker, 2)), { a: 1, b: 1 });
    assertEquals(await fairShares(t.store), { c: 1 });
  },

  "a group's latency is the age of its oldest queued job": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(groupOf("a", 1, 1));
    t.advance(HOUR_MS);
    await t.store.jobs.enqueue([...groupOf("a", 2, 2), ...groupOf("b", 3, 3)]);
    t.advance(HOUR_MS);
    const latencies = async () =>
      Object.fromEntries(
        (await t.store.admin.groups("default")).groups.map(({ name, latencyMs }) => [name, latencyMs]),
      );
    const isNear = (ms: number | undefined, wanted: number) => ms! >= wanted && ms! <= wanted + SLACK_MS;
    const { a, b } = await latencies();
    assert(isNear(a, 2 * HOUR_MS) && isNear(b, HOUR_MS), `${a} ${b}`);
    await register(t.store, worker);
    await takeUpTo(t.store, worker);
    assertEquals(await latencies(), { a: 0, b: 0 });
  },

  "a queue's latency is the age of its oldest job, also in a held group": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const hours = async () => Math.floor((await t.store.admin.stats()).queues[0]!.latencyMs / HOUR_MS);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
    await t.store.jobs.enqueue(groupOf("a", 1, 2));
    t.advance(HOUR_MS);
    assertEquals(await hours(), 1, "a group that has its turn");
    await register(t.store, worker);
    assertEquals((await takeUpTo(t.store, worker)).length, 1);
    assertEquals(await hours(), 1, "only a held group");
    t.advance(HOUR_MS);
    await t.store.jobs.enqueue([job(3), ...groupOf("b", 4, 4)]);
    assertEquals(await hours(), 2, "among newer jobs, with and without a group");
  },

  "the slowest group is the one whose oldest job has been queued for the longest time, also if it is held": async (
    open,
  ) => {
    await using t = await open();
    const worker = await register(t.store);
    const slowest = async () => (await t.store.admin.groups("default", { withSlowest: true, limit: 1 })).slowest;
    assertEquals(await slowest(), undefined);
    await t.store.jobs.enqueue([job(1)]);
    assertEquals(await slowest(), undefined, "jobs without a group don't count");
    await t.store.jobs.enqueue(groupOf("b", 2, 3));
    t.advance(HOUR_MS);
    await t.store.jobs.enqueue([...groupOf("a", 5, 9), ...groupOf("c", 10, 11)]);
    await register(t.store, worker);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
    assertEquals(shares(await takeUpTo(t.store, worker)), { "-": 1, a: 1, b: 1, c: 1 });
    t.advance(HOUR_MS);
    const { name, latencyMs } = (await slowest())!;
    assertEquals(name, "b");
    assert(latencyMs >= 2 * HOUR_MS && latencyMs <= 2 * HOUR_MS + SLACK_MS, `${latencyMs}`);
    assertEquals((await t.store.admin.groups("default")).slowest, undefined, "it isn't requested");
    await t.store.jobs.enqueue(Array.from({ length: 1_500 }, (_, i) => grouped(100 + i, `new${i}`)));
    assertEquals((await slowest())!.name, "b", "among many groups");
  },

  "stats count held groups, and separate limits are listed without the other groups": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const queue = async () => {
      const [{ heldGroups, hasGroupSettings } = {}] = (await t.store.admin.stats()).queues;
      return [heldGroups, hasGroupSettings];
    };
    await t.store.jobs.enqueue([...groupOf("a", 1, 3), ...groupOf("b", 4, 5), grouped(6, "c")]);
    assertEquals(await queue(), [undefined, undefined]);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
    await t.store.admin.configure("default", { group: "idle", limit: { weight: 3 } });
    await t.store.admin.configure("default", { group: "b", limit: { running: 5, forMs: HOUR_MS } });
    assertEquals(await queue(), [undefined, true]);
    const leases = await takeUpTo(t.store, worker);
    assertEquals(shares(leases), { a: 1, b: 2, c: 1 });
    assertEquals(await queue(), [1, true], "a is at its limit; c has no job that waits");
    const own = async () => (await t.store.admin.groups("default", { isSet: true })).groups.map(({ name }) => name);
    assertEquals(await own(), ["b", "idle"]);
    assertEquals((await t.store.admin.groups("default", { isSet: true, limit: 1 })).next, "b");
    await t.advance(HOUR_MS + 1);
    assertEquals(await own(), ["idle"]);
  },

  "the largest groups of queues are counted, and the others together": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { group: "b", limit: { running: 2 } });
    await t.store.jobs.enqueue([...groupOf("a", 1, 9), ...groupOf("b", 10, 15), grouped(16, "c"), grouped(17, "d")]);
    await t.store.jobs.enqueue([job(18), job(19, { queue: "plain" })]);
    const largest = async (count: number) => {
      const { queues } = await t.store.admin.stats({ queues: ["plain", "default", "unknown"], groups: count });
      return queues.map(({ name, groups }) => ({ name, ...groups }));
    };
    assertEquals(await largest(2), [
      {
        name: "default",
        largest: [{ name: "a", size: 9, running: 0 }, { name: "b", size: 6, running: 0 }],
        others: { size: 2, running: 0 },
      },
      { name: "plain" },
      { name: "unknown" },
    ]);
    await takeUpTo(t.store, worker);
    assertEquals(await largest(1), [
      {
        name: "default",
        largest: [{ name: "b", size: 4, running: 2 }],
        others: { size: 0, running: 11 },
      },
      { name: "plain" },
      { name: "unknown" },
    ]);
  },

  "a wait for work ends when a group gets a job, and when a full one has room again": async (open) => {
    await using t = await open();
    const other = await t.another();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
    const forWork = (signal: AbortSignal) => t.store.watch({ work: ["default"] }, signal);
    await woken(forWork, () => other.jobs.enqueue(groupOf("a", 1, 2)));
    const [lease] = await takeUpTo(t.store, worker);
    await woken(forWork, () => other.jobs.settle(worker, [{ kind: "ack", token: lease!.token }]));
    assertEquals((await takeUpTo(t.store, worker)).length, 1);
  },

  "hasQueuedJobs counts jobs of groups, at their limit or not": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
    await t.store.jobs.enqueue(groupOf("a", 1, 2));
    await takeUpTo(t.store, worker);
    assertEquals(await t.store.jobs.hasQueuedJobs(["default"]), true);
    assertEquals(await t.store.admin.configure("default", { forget: true }), false);
  },

  "many groups with few jobs each are drained completely, and leave no state": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const names = Array.from({ length: 300 }, (_, i) => `g${i}`);
    await t.store.jobs.enqueue(names.flatMap((name, i) => groupOf(name, 3 * i + 1, 3 * i + 3)));
    const taken: number[] = [];
    for (;;) {
      const leases = await takeUpTo(t.store, worker, 50);
      if (leases.length === 0) break;
      taken.push(...sorted(leases));
      await t.store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack", token })));
    }
    assertEquals(taken.toSorted((a, b) => a - b), Array.from({ length: 900 }, (_, i) => i + 1));
    assertEquals((await t.store.admin.groups("default")).groups, []);
    assertEquals(await t.store.admin.configure("default", { forget: true }), true);
  },

  "while workers take, die, freeze and return, a group of limit 1 runs one job at a time, and each job ends once":
    async (
      open,
    ) => {
      await using t = await open();
      const GROUPS = 40;
      const JOBS = 160;
      const random = randomFrom(7);
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
      await t.store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
      await t.store.jobs.enqueue(
        Array.from({ length: JOBS }, (_, n) => grouped(n, `g${Math.floor(random() * GROUPS)}`)),
      );
      const done = new Set<unknown>();
      // The leases of each worker that was not rescued. A frozen worker keeps those that it held.
      const held = new Map<string, Lease[]>();
      const frozen = new Map<string, Lease[]>();
      let named = 0;
      const start = async () => held.set(await register(t.store, `host:${++named}:a`), []);
      for (let i = 0; i < 4; i++) await start();
      for (let step = 0; done.size < JOBS; step++) {
        assert(step < 4_000, `${done.size} of ${JOBS} jobs ended: a group was stranded`);
        const worker = pick([...held.keys()]);
        const leases = held.get(worker)!;
        const chance = random();
        if (chance < 0.5) {
          leases.push(...await takeUpTo(t.store, worker, 1 + Math.floor(random() * 20)));
          const running = [...held.values()].flat().map(({ group }) => group);
          assertEquals(new Set(running).size, running.length, "two of a group run");
        } else if (chance < 0.9) {
          for (const { token, payload } of leases.splice(0, 1 + Math.floor(random() * leases.length))) {
            const end = pick(["ack", "ack", "release", "retry"] as const);
            const outcome = end === "retry" ? { kind: end, token, payload, delayMs: 0 } : { kind: end, token };
            assertEquals((await t.store.jobs.settle(worker, [outcome])).lost, []);
            if (end === "ack") done.add(numbers([{ payload }])[0]);
          }
        } else if (chance < 0.94) {
          await t.store.workers.deregister(worker);
          held.delete(worker);
          await start();
        } else if (chance < 0.97) {
          // It dies or freezes with its leases. The others send heartbeats until it is offline, and rescue its jobs.
          if (random() < 0.5) frozen.set(worker, leases.splice(0));
          held.delete(worker);
          await register(t.store, RESCUER);
          for (let passed = 0; passed < LAPSE_MS; passed += TTL_MS / 4) {
            t.advance(TTL_MS / 4);
            for (const alive of [RESCUER, ...held.keys()]) await register(t.store, alive);
          }
          await rescueAll(t.store);
          await start();
        } else {
          for (const [late, believed] of frozen) {
            const outcomes = believed.map(({ token }) => ({ kind: "ack" as const, token }));
            assertEquals((await t.store.jobs.settle(late, outcomes)).lost.length, believed.length);
          }
          frozen.clear();
          await t.store.jobs.promote(100);
        }
      }
      const left = await t.store.admin.stats();
      assertEquals([left.enqueued, left.running, left.retry], [0, 0, 0]);
    },

  "a take skips no group that has room, and keeps the order of each": (open) => takeAtRandom(open, true),

  "the same without limits": (open) => takeAtRandom(open, false),

  "a turn has as many jobs as the worker asks for, but not more than it takes": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([...groupOf("a", 1, 10), ...groupOf("b", 11, 20), ...groupOf("c", 21, 30)]);
    const take = (limit: number, minTurn: number) => t.store.jobs.take({ queues: ["default"], limit, worker, minTurn });
    assertEquals(numbers(await take(6, 4)), [1, 2, 3, 4, 11, 12]);
    assertEquals(shares(await take(9, 4)), { c: 4, b: 4, a: 1 });
    assertEquals(shares(await take(100, 8)), { a: 5, b: 4, c: 6 });
  },

  "a take of groups ends where its bytes do, and the rest stays in order": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const large = (n: number, group: string) => {
      const one = grouped(n, group);
      return { ...one, payload: one.payload.replace(/}$/, `,"text":"${"x".repeat(700_000)}"}`) };
    };
    for (let n = 1; n <= 16; n++) await t.store.jobs.enqueue([large(n, n <= 8 ? "a" : "b")]);
    const taken: unknown[] = [];
    while (taken.length < 16) {
      const leases = await t.store.jobs.take({ queues: ["default"], limit: 8, worker, minTurn: 8 });
      assert(leases.length >= 1 && leases.length <= 6, `${leases.length} jobs`);
      taken.push(...numbers(leases));
    }
    assertEquals(taken.filter((n) => (n as number) <= 8), [1, 2, 3, 4, 5, 6, 7, 8]);
    assertEquals(taken.filter((n) => (n as number) > 8), [9, 10, 11, 12, 13, 14, 15, 16]);
  },
};

/** Pushes, takes and ends jobs of hundreds of groups at random. Each take must have every job that it may. */
async function takeAtRandom(open: Parameters<Cases[string]>[0], hasLimits: boolean): Promise<void> {
  await using t = await open();
  const worker = await register(t.store);
  const random = randomFrom(42);
  const below = (count: number) => Math.floor(random() * count);
  if (hasLimits) {
    const { configure } = t.store.admin;
    await configure("default", { eachGroup: true, limit: { running: 2 } });
    for (let i = 0; i < 20; i++) await configure("default", { group: `g${i}`, limit: { weight: 1 + below(9) } });
    await configure("default", { group: "g0", limit: { running: 30, weight: 5 } });
  }
  /** By group: the numbers of its jobs in their order, and its leases. An empty name: no group. */
  const queued = new Map<string, number[]>();
  const leased = new Map<string, Lease[]>();
  const roomOf = (group: string) => {
    // A separate limit replaces that of each group, a separate weight doesn't. A priority has no limit.
    const limit = !hasLimits || /^(\||$)/.test(group) ? Infinity : group === "g0" ? 30 : 2;
    return Math.min(queued.get(group)!.length, limit - (leased.get(group)?.length ?? 0));
  };
  let pushed = 0;
  for (let step = 0; step < 25; step++) {
    const batch = Array.from({ length: below(300) }, () => {
      const n = ++pushed;
      const group = ["", laneOf("high"), laneOf("low")][below(20)] ?? `g${below(below(2) ? 400 : 4)}`;
      queued.set(group, [...queued.get(group) ?? [], n]);
      const priority = priorityIn(group);
      if (priority !== undefined) return prioritized(priority, n, n)[0]!;
      return group === "" ? job(n) : grouped(n, group);
    });
    await t.store.jobs.enqueue(batch);
    const most = step % 5 === 4 ? 1_000 : 1 + below(20);
    const room = [...queued.keys()].reduce((sum, group) => sum + roomOf(group), 0);
    const leases = await t.store.jobs.take({ queues: ["default"], limit: most, worker, minTurn: 1 + below(16) });
    assertEquals(leases.length, Math.min(most, room), `step ${step}`);
    for (const lease of leases) {
      const group = lease.group ?? "";
      assertEquals(numbers([lease])[0], queued.get(group)!.shift(), `step ${step}, group ${group}`);
      leased.set(group, [...leased.get(group) ?? [], lease]);
    }
    const ended = [...leased.values()].flatMap((some) => some.splice(0, below(some.length + 1)));
    await t.store.jobs.settle(worker, ended.map(({ token }) => ({ kind: "ack", token })));
  }
}

/** Returns numbers from 0 to 1, the same in each run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
}
