/**
 * The steps of jobs, and the signals that they wait for.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { getField } from "../../src/job/raw.ts";
import { CursorError } from "../../src/store/port/cursor.ts";
import { MAX_KEPT_SIGNALS, type NewWait, type StepLease } from "../../src/store/port/steps.ts";
import { readStep } from "../../src/job/step.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { type Cases, SLACK_MS, type TestStore } from "./harness.ts";
import { entries, HOUR_MS, inDead, jid, job, jobs, lapse, numbersIn, register, rescueFor, takeUpTo } from "./jobs.ts";

const SLEEP = "";
const done = (value: string) => `{"state":"succeeded","since":1,"ended":2,"kind":"step","attempts":1,"value":${value}}`;
const waitFor = (key: string, forMs = HOUR_MS): NewWait => ({
  name: "approval",
  about: `"kind":"wait","key":"${key}"`,
  forMs,
  key,
});

/** Takes the only job, and returns the lease that its steps are written under. */
async function leased(store: Store, worker: string): Promise<StepLease & { readonly payload: string }> {
  const [lease] = await takeUpTo(store, worker, 1);
  return { worker, token: lease!.token, jid: String(getField(lease!.payload, "jid")), payload: lease!.payload };
}

/** Pushes job 1 and takes it. */
async function running(t: TestStore) {
  const worker = await register(t.store);
  await t.store.jobs.enqueue([job(1)]);
  return await leased(t.store, worker);
}

function settle(store: Store, { worker, token, jid }: StepLease, outcome: Partial<Outcome> & { kind: string }) {
  return store.jobs.settle(worker, [{ token, jid, steps: true, ...outcome } as Outcome]);
}

/** Lets a job sleep; its payload is marked, as the worker does. */
function goToSleep(store: Store, lease: StepLease, delayMs = HOUR_MS) {
  const payload = job(1).payload.replace(/}$/, `,"has_steps":true}`);
  return settle(store, lease, { kind: "snooze", delayMs, payload });
}

/** Job 1 as other programs may write it: other spacing, an escaped jid, fields of the same name in its arguments. */
const FOREIGN = [
  `{"class": "Noop", "args": [], "jid": "${jid(1)}", "has_steps": true}`,
  `{"class":"Noop","args":[],"jid":"\\u00${jid(1).charCodeAt(0).toString(16)}${jid(1).slice(1)}","has_steps":true}`,
  `{"args":[{"jid":"x"}],"has_steps":true, "jid" :"${jid(1)}","class":"Noop"}`,
];

export const steps: Cases = {
  "the end of a wait makes its job due, however its payload is written": async (open) => {
    for (const payload of FOREIGN) {
      await using t = await open();
      const lease = await running(t);
      await t.store.steps.wait(lease, waitFor("k"));
      await settle(t.store, lease, { kind: "snooze", delayMs: HOUR_MS, payload });
      const { reached } = await t.store.steps.signal({ key: "k", data: "1", ttlMs: HOUR_MS });
      assertEquals(reached, jid(1));
      assertEquals((await t.store.jobs.promote(10)).moved, 1, payload);
    }
  },

  "the end of another child than the one that a step waits for changes nothing": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1), job(8)]);
    const [parent, old] = (await takeUpTo(t.store, worker, 2)).map(({ token }) => token);
    const lease = { worker, token: parent!, jid: jid(1) };
    const about = `"kind":"child","child":"${jid(9)}"`;
    await t.store.steps.wait(lease, { name: "ship", about, forMs: HOUR_MS, child: job(9) });
    const [child] = (await takeUpTo(t.store, worker, 1)).map(({ token }) => token);
    const end = (token: string, n: number) => {
      const outcome = {
        jid: jid(1),
        step: "ship",
        child: jid(n),
        state: "succeeded",
        outcome: `"value":${n}`,
      } as const;
      return t.store.jobs.settle(worker, [{ kind: "ack", token, parent: outcome }]);
    };
    const stateOf = async () => readStep("ship", (await t.store.steps.read(jid(1)))[0]!.record).state;
    await end(old!, 8);
    assertEquals(await stateOf(), "waiting");
    await end(child!, 9);
    assertEquals(await stateOf(), "succeeded");
  },

  "a repeated wait for a child whose step was deleted meanwhile pushes no second child, and the job is due at once":
    async (
      open,
    ) => {
      await using t = await open();
      const lease = await running(t);
      const about = `"kind":"child","child":"${jid(9)}"`;
      const wait = { name: "ship", about, forMs: HOUR_MS, child: job(9, { queue: "other" }) };
      const first = await t.store.steps.wait(lease, wait);
      assertEquals(await t.store.steps.clear(jid(1), ["ship"]), 1);
      const again = await t.store.steps.wait(lease, wait);
      assertEquals([first, again].map((reply) => readStep("ship", reply!.record).state), ["waiting", "waiting"]);
      assertEquals(await t.store.steps.read(jid(1)), []);
      const children = await takeUpTo(t.store, lease.worker, 2, ["other"]);
      assertEquals(children.map(({ payload }) => getField(payload, "jid")), [jid(9)]);
      await goToSleep(t.store, lease);
      assertEquals((await t.store.jobs.promote(10)).moved, 1);
    },

  "a step that waited for a child and was deleted isn't stored again by the attempt that read it, and the job is due at once":
    async (open) => {
      await using t = await open();
      const first = await running(t);
      const about = `"kind":"child","child":"${jid(9)}"`;
      const wait = { name: "ship", about, forMs: HOUR_MS };
      await t.store.steps.wait(first, { ...wait, child: job(9, { queue: "other" }) });
      await goToSleep(t.store, first);
      assertEquals(await t.store.jobs.edit((await t.store.jobs.find([jid(1)])).map(({ ref }) => ref), "requeue"), 1);
      const lease = await leased(t.store, first.worker);
      assertEquals((await t.store.steps.read(jid(1))).length, 1);
      assertEquals(await t.store.steps.clear(jid(1), undefined), 1);
      // Its child ends, and finds no step.
      const [child] = await takeUpTo(t.store, lease.worker, 1, ["other"]);
      const parent = { jid: jid(1), step: "ship", child: jid(9), state: "succeeded", outcome: `"value":1` } as const;
      await t.store.jobs.settle(lease.worker, [{ kind: "ack", token: child!.token, parent }]);
      assertEquals(readStep("ship", (await t.store.steps.wait(lease, wait))!.record).state, "waiting");
      assertEquals(await t.store.steps.read(jid(1)), []);
      await goToSleep(t.store, lease);
      assertEquals((await t.store.jobs.promote(10)).moved, 1);
    },

  "a dead job receives no signal, and takes the one that was kept for it once it is retried": async (open) => {
    for (const [way, ttlMs] of [["kill", HOUR_MS], ["bury", HOUR_MS], ["bury", 0]] as const) {
      await using t = await open();
      const lease = await running(t);
      await t.store.steps.wait(lease, waitFor("k"));
      if (way === "bury") {
        const payload = lease.payload.replace(/}$/, `,"has_steps":true}`);
        await settle(t.store, lease, { kind: "bury", payload });
      } else {
        await goToSleep(t.store, lease);
        const [asleep] = await entries(t.store, { in: "scheduled" });
        assertEquals(await t.store.jobs.edit([asleep!.ref], "kill"), 1);
      }
      const signal = { key: "k", data: "1", ttlMs };
      assertEquals(await t.store.steps.signal(signal), {}, way);
      const [dead] = await entries(t.store, { in: "dead" });
      await t.store.jobs.edit([dead!.ref], "requeue");
      const again = await leased(t.store, lease.worker);
      const { state } = readStep("approval", (await t.store.steps.wait(again, waitFor("k")))!.record);
      assertEquals(state, ttlMs > 0 ? "succeeded" : "waiting", way);
      if (ttlMs > 0) await t.store.steps.wait(again, { ...waitFor("k"), name: "second" });
      assertEquals(await t.store.steps.signal({ ...signal, data: "2" }), { reached: jid(1) }, way);
    }
  },

  "waits: the steps that wait for signals, the first to time out first, in pages, with the payloads of sleeping jobs":
    async (
      open,
    ) => {
      await using t = await open();
      const worker = await register(t.store);
      await t.store.jobs.enqueue([1, 2, 3, 4, 5].map((n) => job(n)));
      const leases = await takeUpTo(t.store, worker, 5);
      const spans = [3, 1, 2, 2, 9].map((hours) => hours * HOUR_MS);
      for (const [i, { token, payload }] of leases.entries()) {
        const lease = { worker, token, jid: jid(i + 1) };
        const key = i === 2 ? "refund:3" : `order:${i + 1}`;
        await t.store.steps.wait(
          lease,
          i === 4 ? { name: "nap", about: SLEEP, forMs: spans[4]! } : waitFor(key, spans[i]),
        );
        const marked = payload.replace(/}$/, `,"has_steps":true}`);
        if (i !== 3) await settle(t.store, lease, { kind: "snooze", delayMs: spans[i]!, payload: marked });
      }
      const all = await t.store.steps.waits({ limit: 10 });
      assertEquals(all.next, undefined);
      assertEquals(all.waits.map(({ key, jid, name }) => [key, jid, name]), [
        ["order:2", jid(2), "approval"],
        ["refund:3", jid(3), "approval"],
        ["order:4", jid(4), "approval"],
        ["order:1", jid(1), "approval"],
      ]);
      assertEquals(all.waits.map(({ payload = "" }) => payload && getField(payload, "jid")), [
        jid(2),
        jid(3),
        "",
        jid(1),
      ]);
      assertEquals(readStep("approval", all.waits[0]!.record).key, "order:2");
      const paged: string[] = [];
      let pages = 0;
      for (let cursor: string | undefined;; pages++) {
        const page = await t.store.steps.waits({ limit: 1, ...(cursor !== undefined && { cursor }) });
        paged.push(...page.waits.map(({ key }) => key));
        if ((cursor = page.next) === undefined) break;
      }
      assertEquals([paged, pages], [all.waits.map(({ key }) => key), 3]);
      // A page begins after its cursor, also once that wait has ended.
      const { next } = await t.store.steps.waits({ limit: 2 });
      assertEquals(await t.store.steps.signal({ key: "refund:3", data: "1", ttlMs: HOUR_MS }), { reached: jid(3) });
      const rest = await t.store.steps.waits({ limit: 2, cursor: next! });
      assertEquals(rest.waits.map(({ key }) => key), ["order:4", "order:1"]);
      const one = await t.store.steps.waits({ limit: 2, key: "order:1" });
      assertEquals([one.waits.map(({ jid }) => jid), one.next], [[jid(1)], undefined]);
      assertEquals((await t.store.steps.waits({ limit: 2, key: "order:" })).waits, []);
      for (const cursor of ["", "x", "order:1"]) {
        await assertRejects(() => t.store.steps.waits({ limit: 1, cursor }), CursorError);
      }
    },

  "waits: several for one key are in the order in which they began, and those of ended and dead jobs are left out":
    async (
      open,
    ) => {
      await using t = await open();
      const worker = await register(t.store);
      await t.store.jobs.enqueue([1, 2, 3, 4].map((n) => job(n)));
      const leases = await takeUpTo(t.store, worker, 4);
      for (const [i, { token, payload }] of leases.entries()) {
        const lease = { worker, token, jid: jid(i + 1) };
        await t.store.steps.wait(lease, waitFor("k", (9 - i) * HOUR_MS));
        const marked = payload.replace(/}$/, `,"has_steps":true}`);
        await settle(t.store, lease, { kind: "snooze", delayMs: HOUR_MS, payload: marked });
      }
      const jids = async () => (await t.store.steps.waits({ limit: 10, key: "k" })).waits.map(({ jid }) => jid);
      assertEquals(await jids(), [jid(1), jid(2), jid(3), jid(4)]);
      const asleep = await entries(t.store, { in: "scheduled" });
      const refOf = (n: number) => asleep.find(({ payload }) => getField(payload, "jid") === jid(n))!.ref;
      assertEquals(await t.store.jobs.edit([refOf(1)], "kill"), 1);
      assertEquals(await t.store.jobs.edit([refOf(2)], "delete"), 1);
      assertEquals(await jids(), [jid(3), jid(4)]);
      assertEquals((await t.store.steps.waits({ limit: 10 })).waits.map(({ jid }) => jid), [jid(4), jid(3)]);
      const first = await t.store.steps.waits({ limit: 1, key: "k" });
      assertEquals(first.waits.map(({ jid }) => jid), [jid(3)]);
      const second = await t.store.steps.waits({ limit: 1, key: "k", cursor: first.next! });
      assertEquals([second.waits.map(({ jid }) => jid), second.next], [[jid(4)], undefined]);
    },

  "signal: one that isn't to be kept reaches a job that waits, or does nothing": async (open) => {
    await using t = await open();
    const lease = await running(t);
    const signal = { key: "k", data: "1", ttlMs: 0 };
    assertEquals(await t.store.steps.signal(signal), {});
    assertEquals((await t.store.steps.wait(lease, waitFor("k")))?.leftMs, HOUR_MS);
    assertEquals(await t.store.steps.signal(signal), { reached: jid(1) });
  },

  "remember: later attempts read a step, byte for byte": async (open) => {
    await using t = await open();
    const lease = await running(t);
    const record = done(`{"big":12345678901234567890,"text":"ä\\u2028"}`);
    assertEquals(await t.store.steps.remember(lease, { name: "charge", record }), record);
    await settle(t.store, lease, { kind: "release" });
    assertEquals(await t.store.steps.read(lease.jid), [{ name: "charge", record }]);
  },

  "remember: a step that is done keeps its value, and returns it": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await t.store.steps.remember(lease, { name: "a", record: done("1") });
    assertEquals(await t.store.steps.remember(lease, { name: "a", record: done("2") }), done("1"));
    assertEquals(await t.store.steps.read(lease.jid), [{ name: "a", record: done("1") }]);
  },

  "remember: a failed step and a cursor are overwritten": async (open) => {
    await using t = await open();
    const lease = await running(t);
    for (const state of ["failed", "running"]) {
      await t.store.steps.remember(lease, { name: "a", record: `{"state":"${state}","since":1,"kind":"each"}` });
    }
    assertEquals(await t.store.steps.remember(lease, { name: "a", record: done("2") }), done("2"));
  },

  "steps are read in the order in which they began, also within a millisecond, and by clocks that differ": async (
    open,
  ) => {
    await using t = await open();
    const lease = await running(t);
    const now = Date.now() + HOUR_MS;
    const long = JSON.stringify("x".repeat(100));
    const names = Array.from({ length: 40 }, (_, i) => `step ${i}`);
    const sinceOf = (i: number) => now + i / 1_000;
    for (const [i, name] of names.entries()) {
      await t.store.steps.remember(lease, { name, record: done(long).replace(/"since":1,/, `"since":${sinceOf(i)},`) });
    }
    await t.store.steps.wait(lease, { ...waitFor("k"), after: sinceOf(39) });
    const steps = await t.store.steps.read(lease.jid);
    assertEquals(steps.map(({ name }) => name), [...names, "approval"]);
    assertEquals(readStep("approval", steps.at(-1)!.record).since, now + 1);
  },

  "remember: steps are read in the order in which they began": async (open) => {
    await using t = await open();
    const lease = await running(t);
    const names = ["c", "a", "b", "z", "d"];
    for (const [i, name] of names.entries()) {
      const record = `{"state":"succeeded","since":${1_000 + i},"ended":${5_000 - i},"kind":"step","value":null}`;
      await t.store.steps.remember(lease, { name, record });
    }
    assertEquals((await t.store.steps.read(lease.jid)).map(({ name }) => name), names);
  },

  "the payload of a job with steps that loses its lease without an outcome is marked, once": async (open) => {
    const ways: Record<string, (t: TestStore, lease: StepLease) => Promise<unknown>> = {
      release: (t, lease) => settle(t.store, lease, { kind: "release" }),
      "its worker leaves": (t, { worker }) => t.store.workers.deregister(worker),
      rescue: async (t) => {
        await lapse(t);
        await rescueFor(t.store);
      },
    };
    // Other clients write spaces. Arguments may contain anything.
    const text = `{"class": "Noop", "args": ["has_steps\\":true", {"jid": "${jid(9)}"}], "jid": "${jid(1)}"}`;
    for (const [way, lose] of Object.entries(ways)) {
      await using t = await open();
      const worker = await register(t.store);
      await t.store.jobs.enqueue([{ ...job(1), payload: text }]);
      const lease = await leased(t.store, worker);
      assertEquals(lease.jid, jid(1));
      for (const name of ["a", "b"]) await t.store.steps.remember(lease, { name, record: done("1") });
      await lose(t, lease);
      let again = await leased(t.store, await register(t.store));
      assertEquals(getField(again.payload, "has_steps"), true, way);
      assertEquals(getField(again.payload, "args"), getField(text, "args"), way);
      await settle(t.store, again, { kind: "release" });
      again = await leased(t.store, again.worker);
      assertEquals(again.payload.match(/"has_steps":true/g)?.length, 1, way);
      assertEquals((await t.store.steps.read(lease.jid)).length, 2, way);
    }
  },

  "a payload is marked also if its jid follows many others, or is escaped": async (open) => {
    const escaped = `\\u00${jid(1).charCodeAt(0).toString(16)}${jid(1).slice(1)}`;
    const others = Array.from({ length: 150 }, (_, i) => `{"jid":"${jid(i + 2)}"}`).join();
    for (const members of [`"args":[${others}],"jid":"${jid(1)}"`, `"args":[],"jid":"${escaped}"`]) {
      await using t = await open();
      const worker = await register(t.store);
      await t.store.jobs.enqueue([{ ...job(1), payload: `{"class":"Noop",${members}}` }]);
      const lease = await leased(t.store, worker);
      assertEquals(lease.jid, jid(1));
      await t.store.steps.remember(lease, { name: "a", record: done("1") });
      await settle(t.store, lease, { kind: "release" });
      assertEquals(getField((await leased(t.store, worker)).payload, "has_steps"), true);
    }
  },

  "the payload of a job without steps isn't marked when it loses its lease": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await settle(t.store, lease, { kind: "release" });
    assertEquals((await leased(t.store, lease.worker)).payload, lease.payload);
  },

  "remember: a worker that has lost the job writes nothing": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await lapse(t);
    assertEquals((await rescueFor(t.store)).rescued, 1);
    assertEquals(await t.store.steps.remember(lease, { name: "a", record: done("1") }), undefined);
    assertEquals(await t.store.steps.wait(lease, { name: "b", about: SLEEP, forMs: 1 }), undefined);
    assertEquals(await t.store.steps.read(lease.jid), []);
    const stranger = { ...lease, worker: "host:2:bbbbbbbbbbbb" };
    assertEquals(await t.store.steps.remember(stranger, { name: "a", record: done("1") }), undefined);
  },

  "remember: steps that end together are each written under the lease of their job": async (open) => {
    await using t = await open();
    const { steps } = t.store;
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 75));
    const leases = (await takeUpTo(t.store, worker)).map(({ token, payload }) => {
      return { worker, token, jid: String(getField(payload, "jid")) };
    });
    assertEquals(leases.length, 75);
    const [first, lost, early] = [leases[0]!, leases[2]!, leases[70]!];
    await settle(t.store, lost, { kind: "release", steps: false });
    // The worker has the job again, with another lease.
    assertEquals((await takeUpTo(t.store, worker)).length, 1);
    await steps.remember(early, { name: "a", record: done("0") });
    const written = await Promise.all([
      ...leases.map((lease, i) => steps.remember(lease, { name: "a", record: done(`${i + 1}`) })),
      steps.remember(first, { name: "b", record: done("100") }),
      steps.remember({ ...first, worker: "host:2:bbbbbbbbbbbb" }, { name: "c", record: done("101") }),
    ]);
    const expected = leases.map((lease, i) => lease === lost ? undefined : done(`${lease === early ? 0 : i + 1}`));
    assertEquals(written, [...expected, done("100"), undefined]);
    const stored = await Promise.all(leases.map(({ jid }) => steps.read(jid)));
    const recordsOf = (name: string) => stored.map((those) => those.find((step) => step.name === name)?.record);
    assertEquals(recordsOf("a"), expected);
    assertEquals(recordsOf("b"), [done("100"), ...Array(74).fill(undefined)]);
    assertEquals(recordsOf("c"), Array(75).fill(undefined));
  },

  "a rescued job has the steps that its worker wrote": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await t.store.steps.remember(lease, { name: "a", record: done("1") });
    await lapse(t);
    await rescueFor(t.store);
    const again = await leased(t.store, await register(t.store, "host:2:bbbbbbbbbbbb"));
    assertEquals(getField(again.payload, "has_steps"), true);
    assertEquals(await t.store.steps.read(again.jid), [{ name: "a", record: done("1") }]);
  },

  "the steps are deleted when the job ends": async (open) => {
    for (const kind of ["ack", "discard"] as const) {
      await using t = await open();
      const lease = await running(t);
      await t.store.steps.remember(lease, { name: "a", record: done("1") });
      await settle(t.store, lease, { kind });
      assertEquals(await t.store.steps.read(lease.jid), []);
    }
  },

  "the steps of jobs that end together are deleted, without those of a lost lease": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 40));
    const leases = (await takeUpTo(t.store, worker)).map(({ token, payload }) => {
      return { worker, token, jid: String(getField(payload, "jid")) };
    });
    await Promise.all(leases.map((lease) => t.store.steps.remember(lease, { name: "a", record: done("1") })));
    const [lost, ...others] = leases;
    await settle(t.store, lost!, { kind: "release" });
    const ends = leases.map(({ token, jid }, i): Outcome => {
      return { kind: i % 2 === 0 ? "ack" : "discard", token, jid, ...(i < 30 && { steps: true }) };
    });
    assertEquals((await t.store.jobs.settle(worker, ends)).lost, [lost!.token]);
    assertEquals((await t.store.steps.read(lost!.jid)).length, 1);
    for (const [i, { jid }] of others.entries()) assertEquals((await t.store.steps.read(jid)).length, i < 29 ? 0 : 1);
  },

  "the steps stay with a job that failed, and with a dead one, until it is deleted": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await t.store.steps.remember(lease, { name: "a", record: done("1") });
    const payload = job(1).payload.replace(/}$/, `,"has_steps":true}`);
    await settle(t.store, lease, { kind: "retry", delayMs: 0, payload });
    await t.store.jobs.promote(1);
    const again = await leased(t.store, lease.worker);
    assertEquals((await t.store.steps.read(again.jid)).length, 1);
    await settle(t.store, again, { kind: "bury", payload });
    assertEquals((await t.store.steps.read(again.jid)).length, 1);
    const [dead] = await entries(t.store, { in: "dead" });
    assertEquals(await t.store.jobs.edit([dead!.ref], "delete"), 1);
    assertEquals(await t.store.steps.read(again.jid), []);
  },

  "the steps of a dead job that is dropped beyond the limit are deleted": async (open) => {
    await using t = await open({ deadMaxJobs: 1 });
    const lease = await running(t);
    await t.store.steps.remember(lease, { name: "a", record: done("1") });
    await settle(t.store, lease, { kind: "bury", payload: job(1).payload.replace(/}$/, `,"has_steps":true}`) });
    await inDead(t.store, lease.worker, [job(2)]);
    assertEquals(await numbersIn(t.store, { in: "dead" }), [2]);
    assertEquals(await t.store.steps.read(lease.jid), []);
  },

  "sleep: lasts its whole time by the store's clock": async (open) => {
    await using t = await open();
    const lease = await running(t);
    const sleep = { name: "nap", about: SLEEP, forMs: HOUR_MS };
    const first = await t.store.steps.wait(lease, sleep);
    assertEquals(first!.leftMs, HOUR_MS);
    assertAlmostEquals(readStep("nap", first!.record).until!, t.now() + HOUR_MS, SLACK_MS);
    t.advance(HOUR_MS - 2 * SLACK_MS);
    const { leftMs, record } = (await t.store.steps.wait(lease, sleep))!;
    assertAlmostEquals(leftMs, 2 * SLACK_MS, SLACK_MS);
    assertEquals(record, first!.record);
    t.advance(2 * SLACK_MS);
    const over = await t.store.steps.wait(lease, sleep);
    assertEquals(over!.leftMs, 0);
    const { state, kind, timedOut } = readStep("nap", over!.record);
    assertEquals([state, kind, timedOut], ["succeeded", "sleep", undefined]);
    // Redis stores a hash with a longer value in twice the space (`hash-max-listpack-value`).
    assert(record.length <= 64, record);
  },

  "sleep: one that an earlier version has begun ends without a timeout": async (open) => {
    await using t = await open();
    const lease = await running(t);
    const sleep = { name: "nap", about: `"kind":"sleep"`, forMs: 1_000 };
    await t.store.steps.wait(lease, sleep);
    assertEquals((await t.store.admin.stats()).waits.sleep, 1);
    t.advance(1_000 + SLACK_MS);
    const { kind, timedOut } = readStep("nap", (await t.store.steps.wait(lease, sleep))!.record);
    assertEquals([kind, timedOut], ["sleep", undefined]);
    assertEquals((await t.store.admin.stats()).waits.sleep, 0);
  },

  "signal: ends the wait with its data, and makes the job due": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await t.store.steps.wait(lease, waitFor("order:1"));
    await goToSleep(t.store, lease);
    assertEquals((await t.store.jobs.promote(1)).moved, 0);
    const data = `{"yes":12345678901234567890}`;
    assertEquals(await t.store.steps.signal({ key: "order:1", data, ttlMs: HOUR_MS }), { reached: lease.jid });
    assertEquals((await t.store.jobs.promote(1)).moved, 1);
    const { name, record } = (await t.store.steps.read(lease.jid))[0]!;
    assertEquals([name, readStep(name, record).state], ["approval", "succeeded"]);
    assertMatch(record, /"value":\{"yes":12345678901234567890\}\}$/);
    const again = await leased(t.store, lease.worker);
    assertEquals(await t.store.steps.wait(again, waitFor("order:1")), { record, leftMs: 0 });
  },

  "signal: one between the wait and the sleep prevents the sleep": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await t.store.steps.wait(lease, waitFor("order:1"));
    await t.store.steps.signal({ key: "order:1", data: "1", ttlMs: HOUR_MS });
    await goToSleep(t.store, lease);
    assertEquals((await t.store.jobs.promote(1)).moved, 1);
    // Only once.
    await goToSleep(t.store, await leased(t.store, lease.worker));
    assertEquals((await t.store.jobs.promote(1)).moved, 0);
  },

  "signal: without a waiting job, it is kept for the first wait": async (open) => {
    await using t = await open();
    const lease = await running(t);
    for (const data of ["1", "2"]) {
      assertEquals(await t.store.steps.signal({ key: "order:1", data, ttlMs: HOUR_MS }), {});
    }
    const wait = await t.store.steps.wait(lease, waitFor("order:1"));
    assertEquals([wait!.leftMs, readStep("", wait!.record).value], [0, 1]);
    const other = await t.store.steps.wait(lease, { ...waitFor("order:1"), name: "second" });
    assertEquals(readStep("", other!.record).value, 2);
    const third = await t.store.steps.wait(lease, { ...waitFor("order:1"), name: "third" });
    assertEquals(third!.leftMs, HOUR_MS);
  },

  "signal: a kept signal expires": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await t.store.steps.signal({ key: "order:1", data: "1", ttlMs: 60_000 });
    t.advance(60_000 + SLACK_MS);
    assertEquals((await t.store.steps.wait(lease, waitFor("order:1")))!.leftMs, HOUR_MS);
  },

  "signal: reaches the oldest wait, each one once": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1), job(2)]);
    const one = await leased(t.store, worker);
    const two = await leased(t.store, worker);
    await t.store.steps.wait(two, waitFor("k"));
    await t.store.steps.wait(one, waitFor("k"));
    const signal = { key: "k", data: "1", ttlMs: HOUR_MS };
    assertEquals(await t.store.steps.signal(signal), { reached: jid(2) });
    assertEquals(await t.store.steps.signal(signal), { reached: jid(1) });
    assertEquals(await t.store.steps.signal(signal), {});
  },

  "signal: skips the wait of a job that has ended": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await t.store.steps.wait(lease, waitFor("k"));
    await settle(t.store, lease, { kind: "ack" });
    assertEquals(await t.store.steps.signal({ key: "k", data: "1", ttlMs: HOUR_MS }), {});
  },

  "signal: a key refuses a signal beyond its maximum": async (open) => {
    await using t = await open();
    const signal = { key: "k", data: "1", ttlMs: HOUR_MS };
    await Promise.all(Array.from({ length: MAX_KEPT_SIGNALS }, () => t.store.steps.signal(signal)));
    const error = await assertRejects(() => t.store.steps.signal(signal));
    assertMatch((error as Error).message, /^Signal "k" not stored: its key already keeps 1000 signals/);
  },

  "signal: expired ones don't count towards the maximum of their key": async (open) => {
    await using t = await open();
    const lease = await running(t);
    const old = { key: "k", data: "1", ttlMs: 60_000 };
    await Promise.all(Array.from({ length: MAX_KEPT_SIGNALS }, () => t.store.steps.signal(old)));
    t.advance(60_000 + SLACK_MS);
    assertEquals(await t.store.steps.signal({ key: "k", data: "2", ttlMs: HOUR_MS }), {});
    assertEquals(readStep("", (await t.store.steps.wait(lease, waitFor("k")))!.record).value, 2);
  },

  "a wait whose time has passed has timed out, and no signal reaches it": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await t.store.steps.wait(lease, waitFor("k", 60_000));
    t.advance(60_000 + SLACK_MS);
    const over = await t.store.steps.wait(lease, waitFor("k", 60_000));
    const { state, timedOut, value } = readStep("", over!.record);
    assertEquals([state, timedOut, value], ["succeeded", true, undefined]);
    assertEquals(await t.store.steps.signal({ key: "k", data: "1", ttlMs: HOUR_MS }), {});
  },

  "child: is enqueued with the wait, once, and its end ends the wait": async (open) => {
    await using t = await open();
    const lease = await running(t);
    const child = job(2, { queue: "other" });
    const wait = { name: "child", about: `"kind":"child","child":"${jid(2)}"`, forMs: HOUR_MS, child };
    await t.store.steps.wait(lease, wait);
    await t.store.steps.wait(lease, wait);
    await goToSleep(t.store, lease);
    const leases = await takeUpTo(t.store, lease.worker, 10, ["other"]);
    assertEquals(leases.length, 1);
    assert(getField(leases[0]!.payload, "enqueued_at") !== undefined);
    const parent = { jid: lease.jid, step: "child", state: "succeeded", outcome: `"value":[7]` } as const;
    await t.store.jobs.settle(lease.worker, [{ kind: "ack", token: leases[0]!.token, parent }]);
    assertEquals((await t.store.jobs.promote(1)).moved, 1);
    const { record } = (await t.store.steps.read(lease.jid))[0]!;
    const { state, child: childJid, value } = readStep("", record);
    assertEquals([state, childJid, value], ["succeeded", jid(2), [7]]);
  },

  "child: each outcome that ends it ends the wait, and no other does": async (open) => {
    for (const kind of ["discard", "bury", "retry", "snooze"] as const) {
      await using t = await open();
      const lease = await running(t);
      const wait = { name: "child", about: `"kind":"child","child":"${jid(2)}"`, forMs: HOUR_MS, child: job(2) };
      await t.store.steps.wait(lease, wait);
      await goToSleep(t.store, lease);
      const [child] = await takeUpTo(t.store, lease.worker, 1);
      const isEnd = kind === "discard" || kind === "bury";
      const error = `"error":{"class":"Refused","message":"no"},"final":true`;
      const parent = { jid: lease.jid, step: "child", child: jid(2), state: "failed", outcome: error } as const;
      const outcome = {
        kind,
        token: child!.token,
        payload: job(2).payload,
        delayMs: HOUR_MS,
        ...(isEnd && { parent }),
      };
      assertEquals((await t.store.jobs.settle(lease.worker, [outcome])).lost, []);
      const step = readStep("child", (await t.store.steps.read(lease.jid))[0]!.record);
      assertEquals([step.state, step.error?.class], isEnd ? ["failed", "Refused"] : ["waiting", undefined], kind);
      assertEquals((await t.store.jobs.promote(1)).moved, isEnd ? 1 : 0, kind);
    }
  },

  "child: one that ends in the settlement in which its parent goes to sleep wakes it, in either order": async (
    open,
  ) => {
    for (const parentFirst of [true, false]) {
      await using t = await open();
      const lease = await running(t);
      const wait = { name: "child", about: `"kind":"child","child":"${jid(2)}"`, forMs: HOUR_MS, child: job(2) };
      await t.store.steps.wait(lease, wait);
      const [child] = await takeUpTo(t.store, lease.worker, 1);
      const parent = {
        jid: lease.jid,
        step: "child",
        child: jid(2),
        state: "succeeded",
        outcome: `"value":1`,
      } as const;
      const outcomes = [
        { kind: "snooze", token: lease.token, payload: lease.payload, delayMs: HOUR_MS, jid: lease.jid, steps: true },
        { kind: "ack", token: child!.token, jid: jid(2), parent },
      ] as const;
      await t.store.jobs.settle(lease.worker, parentFirst ? outcomes : outcomes.toReversed());
      assertEquals((await t.store.jobs.promote(1)).moved, 1, `parent first: ${parentFirst}`);
      // Only once.
      await goToSleep(t.store, await leased(t.store, lease.worker));
      assertEquals((await t.store.jobs.promote(1)).moved, 0);
    }
  },

  "child: a job for later is in scheduled": async (open) => {
    await using t = await open();
    const lease = await running(t);
    const wait = { name: "child", about: `"kind":"child","child":"${jid(2)}"`, forMs: HOUR_MS };
    await t.store.steps.wait(lease, { ...wait, child: job(2, { delayMs: HOUR_MS }) });
    assertEquals(await numbersIn(t.store, { in: "scheduled" }), [2]);
  },

  "child: a lost outcome ends no wait": async (open) => {
    await using t = await open();
    const lease = await running(t);
    const wait = { name: "child", about: `"kind":"child","child":"${jid(2)}"`, forMs: HOUR_MS };
    await t.store.steps.wait(lease, { ...wait, child: job(2) });
    const parent = { jid: lease.jid, step: "child", state: "succeeded", outcome: `"value":1` } as const;
    assertEquals(
      (await t.store.jobs.settle(lease.worker, [{ kind: "ack", token: "99.gone:default", parent }])).lost.length,
      1,
    );
    assertEquals(readStep("", (await t.store.steps.read(lease.jid))[0]!.record).state, "waiting");
  },

  "child: a job that an operator deletes or kills fails the wait": async (open) => {
    for (const [edit, error] of [["delete", "Deleted"], ["kill", "Killed"]] as const) {
      await using t = await open();
      const lease = await running(t);
      const payload = job(2).payload.replace(/}$/, `,"parent":{"jid":"${lease.jid}","step":"child"}}`);
      const wait = { name: "child", about: `"kind":"child","child":"${jid(2)}"`, forMs: HOUR_MS };
      await t.store.steps.wait(lease, { ...wait, child: job(2, { payload }) });
      await goToSleep(t.store, lease);
      const [child] = await t.store.jobs.find([jid(2)]);
      assertEquals(await t.store.jobs.edit([child!.ref], edit), 1);
      const step = readStep("child", (await t.store.steps.read(lease.jid))[0]!.record);
      assertEquals([step.state, step.final, step.error?.class], ["failed", true, error]);
      assertEquals((await t.store.jobs.promote(1)).moved, 1);
    }
  },

  "clear: deletes some steps, or all, and they can be written again": async (open) => {
    await using t = await open();
    const lease = await running(t);
    for (const name of ["a", "b", "c", "d"]) await t.store.steps.remember(lease, { name, record: done("1") });
    assertEquals(await t.store.steps.clear(lease.jid, ["b", "c", "none"]), 2);
    assertEquals((await t.store.steps.read(lease.jid)).map(({ name }) => name).sort(), ["a", "d"]);
    assertEquals(await t.store.steps.clear(lease.jid), 2);
    assertEquals(await t.store.steps.clear(lease.jid), 0);
    assertEquals(await t.store.steps.remember(lease, { name: "a", record: done("2") }), done("2"));
  },

  "clear: a job whose wait is deleted becomes due, and waits from the beginning": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await t.store.steps.remember(lease, { name: "a", record: done("1") });
    const child = { name: "child", about: `"kind":"child","child":"${jid(2)}"`, forMs: HOUR_MS, child: job(2) };
    await t.store.steps.wait(lease, child);
    await goToSleep(t.store, lease);
    assertEquals(await t.store.steps.clear(lease.jid, ["a"]), 1);
    assertEquals((await t.store.jobs.promote(1)).moved, 0);
    assertEquals(await t.store.steps.clear(lease.jid), 1);
    assertEquals((await t.store.jobs.promote(1)).moved, 1);
  },

  "wake: ends a sleep and makes the job due": async (open) => {
    await using t = await open();
    const lease = await running(t);
    const sleep = { name: "nap", about: SLEEP, forMs: HOUR_MS };
    await t.store.steps.wait(lease, sleep);
    await goToSleep(t.store, lease);
    assertEquals(await t.store.steps.clear(lease.jid, "waits"), 1);
    assertEquals((await t.store.jobs.promote(1)).moved, 1);
    assertEquals((await t.store.steps.wait(await leased(t.store, lease.worker), sleep))!.leftMs, 0);
    assertEquals(await t.store.steps.clear(lease.jid, "waits"), 0);
  },

  "waits are counted by kind until they end": async (open) => {
    await using t = await open();
    const lease = await running(t);
    const waits = async () => Object.values((await t.store.admin.stats()).waits);
    assertEquals(await waits(), [0, 0, 0]);
    await t.store.steps.wait(lease, { name: "nap", about: SLEEP, forMs: HOUR_MS });
    await t.store.steps.wait(lease, waitFor("k"));
    const child = { name: "child", about: `"kind":"child","child":"${jid(2)}"`, forMs: HOUR_MS, child: job(2) };
    await t.store.steps.wait(lease, child);
    await t.store.steps.wait(lease, child);
    assertEquals(await waits(), [1, 1, 1]);
    await goToSleep(t.store, lease);
    assertEquals(await waits(), [1, 1, 1]);
    await t.store.steps.signal({ key: "k", data: "1", ttlMs: HOUR_MS });
    assertEquals(await waits(), [1, 0, 1]);
    await t.store.steps.clear(lease.jid, ["child"]);
    assertEquals(await waits(), [1, 0, 0]);
    await t.store.steps.clear(lease.jid, "waits");
    assertEquals(await waits(), [0, 0, 0]);
  },

  "waits of a deleted job are not counted, nor one whose time has passed": async (open) => {
    await using t = await open();
    const lease = await running(t);
    const waits = async () => Object.values((await t.store.admin.stats()).waits);
    await t.store.steps.wait(lease, { name: "nap", about: SLEEP, forMs: 60_000 });
    t.advance(60_000 + SLACK_MS);
    await t.store.steps.wait(lease, { name: "nap", about: SLEEP, forMs: 60_000 });
    assertEquals(await waits(), [0, 0, 0]);
    await t.store.steps.wait(lease, waitFor("k"));
    await t.store.steps.wait(lease, { name: "rest", about: SLEEP, forMs: HOUR_MS });
    await goToSleep(t.store, lease);
    assertEquals(await waits(), [1, 1, 0]);
    const [entry] = await t.store.jobs.find([lease.jid]);
    assertEquals(await t.store.jobs.edit([entry!.ref], "delete"), 1);
    assertEquals(await waits(), [0, 0, 0]);
  },
};
