/**
 * The ends of leases.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { setFields } from "../../src/job/raw.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { entries, HOUR_MS, job, jobs, lapse, numbers, numbersIn, register, rescueFor, takeUpTo } from "./jobs.ts";

export const settle: Cases = {
  "ack: the job has left the store": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1), job(2)]);
    const [first] = await takeUpTo(t.store, worker);
    assertEquals(await t.store.jobs.settle(worker, [{ kind: "ack", token: first!.token }]), { lost: [], dropped: 0 });
    assertEquals(numbers(await entries(t.store, { in: "running" })), [2]);
    assertEquals((await t.store.admin.stats()).enqueued, 0);
  },

  "discard: the job has left the store": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [first] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "discard", token: first!.token }]);
    const { enqueued, running, scheduled, retry, dead } = await t.store.admin.stats();
    assertEquals([enqueued, running, scheduled, retry, dead], [0, 0, 0, 0, 0]);
  },

  "retry: the given payload is in retry, due after the delay": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [first] = await takeUpTo(t.store, worker);
    const payload = setFields(job(1).payload, { retry_count: "0", error_class: '"Boom"' });
    await t.store.jobs.settle(worker, [{ kind: "retry", token: first!.token, delayMs: HOUR_MS, payload }]);
    const [entry] = await entries(t.store, { in: "retry" });
    assertEquals(entry!.payload, payload);
    assertAlmostEquals(entry!.at!, t.now() + HOUR_MS, SLACK_MS);
    assertEquals((await t.store.admin.stats()).running, 0);
  },

  "snooze: the given payload is in scheduled, due after the delay": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [first] = await takeUpTo(t.store, worker);
    const { payload } = job(1);
    await t.store.jobs.settle(worker, [{ kind: "snooze", token: first!.token, delayMs: HOUR_MS, payload }]);
    const [entry] = await entries(t.store, { in: "scheduled" });
    assertEquals(entry!.payload, payload);
    assertAlmostEquals(entry!.at!, t.now() + HOUR_MS, SLACK_MS);
    assertEquals((await t.store.admin.stats()).running, 0);
  },

  "bury: the given payload is in dead as of now": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [first] = await takeUpTo(t.store, worker);
    const payload = setFields(job(1).payload, { error_message: '"no use"' });
    await t.store.jobs.settle(worker, [{ kind: "bury", token: first!.token, payload }]);
    const [entry] = await entries(t.store, { in: "dead" });
    assertEquals(entry!.payload, payload);
    assertAlmostEquals(entry!.at!, t.now(), SLACK_MS);
    assertEquals((await t.store.admin.stats()).running, 0);
  },

  "release: the job is at the front of its queue, unchanged": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 5));
    const leases = await takeUpTo(t.store, worker, 3);
    await t.store.jobs.settle(worker, leases.slice(1).map(({ token }) => ({ kind: "release", token })));
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [2, 3, 4, 5]);
    assertEquals(
      (await takeUpTo(t.store, worker, 2)).map((lease) => lease.payload),
      leases.slice(1).map((l) => l.payload),
    );
  },

  "release: the job returns to the queue it was taken from, whichever queue its payload names": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1, { queue: "mail", payload: job(1, { queue: "default" }).payload })]);
    const [first] = await takeUpTo(t.store, worker, 1, ["mail"]);
    await t.store.jobs.settle(worker, [{ kind: "release", token: first!.token }]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "mail" }), [1]);
  },

  "outcomes of every kind are settled in one step": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 6));
    const tokens = (await takeUpTo(t.store, worker)).map((lease) => lease.token);
    const outcomes: Outcome[] = [
      { kind: "ack", token: tokens[0]! },
      { kind: "retry", token: tokens[1]!, delayMs: HOUR_MS, payload: job(2).payload },
      { kind: "bury", token: tokens[2]!, payload: job(3).payload },
      { kind: "release", token: tokens[3]! },
      { kind: "snooze", token: tokens[4]!, delayMs: HOUR_MS, payload: job(5).payload },
      { kind: "discard", token: tokens[5]! },
    ];
    assertEquals(await t.store.jobs.settle(worker, outcomes), { lost: [], dropped: 0 });
    assertEquals(await numbersIn(t.store, { in: "retry" }), [2]);
    assertEquals(await numbersIn(t.store, { in: "dead" }), [3]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [4]);
    assertEquals(await numbersIn(t.store, { in: "scheduled" }), [5]);
    assertEquals(await numbersIn(t.store, { in: "running" }), []);
  },

  "a retry without a delay is due": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [first] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "retry", token: first!.token, delayMs: 0, payload: job(1).payload }]);
    assertEquals((await t.store.jobs.promote(10)).moved, 1);
  },

  "a token is valid for one outcome": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [lease] = await takeUpTo(t.store, worker);
    const { token } = lease!;
    assertEquals(
      await t.store.jobs.settle(worker, [{ kind: "ack", token }, { kind: "bury", token, payload: job(1).payload }]),
      { lost: [token], dropped: 0 },
    );
    assertEquals((await t.store.jobs.settle(worker, [{ kind: "release", token }])).lost, [token]);
    const { enqueued, dead } = await t.store.admin.stats();
    assertEquals([enqueued, dead], [0, 0]);
  },

  "a token is valid for its worker only": async (open) => {
    await using t = await open();
    const worker = await register(t.store, "host:1:aaaaaaaaaaaa");
    const stranger = await register(t.store, "host:2:bbbbbbbbbbbb");
    await t.store.jobs.enqueue([job(1)]);
    const [lease] = await takeUpTo(t.store, worker);
    const { token } = lease!;
    assertEquals((await t.store.jobs.settle(stranger, [{ kind: "ack", token }])).lost, [token]);
    assertEquals(await numbersIn(t.store, { in: "running" }), [1]);
    assertEquals((await t.store.jobs.settle(worker, [{ kind: "ack", token }])).lost, []);
  },

  "an unknown token is lost": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    for (const token of ["", "nonsense", "1", "1:1", "9".repeat(40)]) {
      assertEquals(await t.store.jobs.settle(worker, [{ kind: "ack", token }]), { lost: [token], dropped: 0 });
    }
  },

  "a worker that was frozen until its rescue settles none of its leases": async (open) => {
    await using t = await open();
    const frozen = await register(t.store, "host:1:aaaaaaaaaaaa");
    await t.store.jobs.enqueue(jobs(1, 4));
    const leases = await takeUpTo(t.store, frozen);
    await lapse(t);
    const other = await register(t.store, "host:2:bbbbbbbbbbbb");
    await rescueFor(t.store);
    const again = await takeUpTo(t.store, other, 2);
    assertEquals(numbers(again), [1, 2]);

    await register(t.store, frozen);
    const [a, b, c, d] = leases.map((lease) => lease.token) as [string, string, string, string];
    const { lost } = await t.store.jobs.settle(frozen, [
      { kind: "ack", token: a },
      { kind: "retry", token: b, delayMs: HOUR_MS, payload: job(2).payload },
      { kind: "bury", token: c, payload: job(3).payload },
      { kind: "release", token: d },
    ]);
    assertEquals(lost, [a, b, c, d]);
    const { retry, dead, enqueued, running, processed, failed } = await t.store.admin.stats();
    assertEquals({ retry, dead, enqueued, running, processed, failed }, {
      retry: 0,
      dead: 0,
      enqueued: 2,
      running: 2,
      processed: 0,
      failed: 0,
    });
    assertEquals((await t.store.jobs.settle(other, again.map(({ token }) => ({ kind: "ack", token })))).lost, []);
  },

  "a job taken again by the same worker has another token": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [first] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "release", token: first!.token }]);
    const [second] = await takeUpTo(t.store, worker);
    assertEquals((await t.store.jobs.settle(worker, [{ kind: "ack", token: first!.token }])).lost, [first!.token]);
    assertEquals((await t.store.jobs.settle(worker, [{ kind: "ack", token: second!.token }])).lost, []);
  },

  "an old token of a job is lost, and its new one is valid": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [first] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "release", token: first!.token }]);
    const [second] = await takeUpTo(t.store, worker);
    const { lost } = await t.store.jobs.settle(worker, [
      { kind: "ack", token: first!.token },
      { kind: "bury", token: second!.token, payload: job(1).payload },
    ]);
    assertEquals(lost, [first!.token]);
    assertEquals(await numbersIn(t.store, { in: "dead" }), [1]);
  },

  "dead keeps its maximum of the latest jobs, and settle returns how many it dropped": async (open) => {
    await using t = await open({ deadMaxJobs: 3 });
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 5));
    for (const dropped of [0, 0, 0, 1, 1]) {
      const [lease] = await takeUpTo(t.store, worker, 1);
      const outcome: Outcome = { kind: "bury", token: lease!.token, payload: lease!.payload };
      assertEquals((await t.store.jobs.settle(worker, [outcome])).dropped, dropped);
      t.advance(1_000);
    }
    assertEquals(await numbersIn(t.store, { in: "dead" }), [3, 4, 5]);
  },

  "dead keeps jobs for their maximum age, and settle returns how many it dropped": async (open) => {
    await using t = await open({ deadMaxAgeMs: 24 * HOUR_MS });
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 3));
    for (const dropped of [0, 0, 2]) {
      const [lease] = await takeUpTo(t.store, worker, 1);
      const outcome: Outcome = { kind: "bury", token: lease!.token, payload: lease!.payload };
      assertEquals((await t.store.jobs.settle(worker, [outcome])).dropped, dropped);
      t.advance(dropped === 0 && (await t.store.admin.stats()).dead === 1 ? HOUR_MS : 25 * HOUR_MS);
    }
    assertEquals(await numbersIn(t.store, { in: "dead" }), [3]);
  },

  "dead drops jobs by age and by number in one call, and counts each once": async (open) => {
    await using t = await open({ deadMaxJobs: 2, deadMaxAgeMs: 24 * HOUR_MS });
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 4));
    const bury = async (count: number) => {
      const leases = await takeUpTo(t.store, worker, count);
      const outcomes = leases.map(({ token, payload }): Outcome => ({ kind: "bury", token, payload }));
      return (await t.store.jobs.settle(worker, outcomes)).dropped;
    };
    assertEquals(await bury(1), 0);
    t.advance(25 * HOUR_MS);
    assertEquals(await bury(3), 2);
    assertEquals((await t.store.admin.stats()).dead, 2);
  },

  "accepts a call without outcomes": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.settle(await register(t.store), []), { lost: [], dropped: 0 });
  },
};
