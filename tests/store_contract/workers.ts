/**
 * Heartbeats of workers.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { type Cases, SLACK_MS } from "./harness.ts";
import { job, jobs, lapse, LAPSE_MS, register, rescueFor, RESCUER, takeUpTo, TTL_MS, workerRecord } from "./jobs.ts";

export const workers: Cases = {
  "the first heartbeat registers a worker, and others read its record and its time": async (open) => {
    await using t = await open();
    const record = workerRecord("host:1:aaaaaaaaaaaa", {
      tag: "billing",
      heartbeatMs: 5_000,
      labels: ["eu", "reliable"],
      queues: ["high", "low"],
      weights: { high: 2, low: 1 },
      busy: 1,
      work: [{
        ...{ task: "processor-3", queue: "high", payload: job(1).payload, since: 1_700_000_000_000 },
        ...{ progress: "40 percent", lastLine: "row 7", log: ["row 6", "row 7"] },
        ...{ abortReason: "Cancelled", abortedAt: 1_700_000_000_500 },
      }],
    });
    assertEquals((await t.store.workers.heartbeat(record, TTL_MS)).commands, []);
    const other = await t.another();
    const seen = await other.workers.list();
    assertEquals(seen.length, 1);
    const { heartbeatAt, alive, ...said } = seen[0]!;
    assertEquals(said, record);
    assertEquals(alive, true);
    assertAlmostEquals(heartbeatAt, t.now(), SLACK_MS);
  },

  "a worker reports the hosts whose circuits are open": async (open) => {
    await using t = await open();
    const circuits = [
      { host: "app.internal:8443", state: "open", failures: 7, since: 1_700_000_000_123, error: "ECONNREFUSED" },
      { host: "b", state: "halfOpen", failures: 5, since: 1_700_000_000_123, error: "" },
    ] as const;
    await t.store.workers.heartbeat(workerRecord("a", { circuits }), TTL_MS);
    await t.store.workers.heartbeat(workerRecord("b"), TTL_MS);
    const found = Object.fromEntries((await t.store.workers.list()).map((worker) => [worker.id, worker.circuits]));
    assertEquals(found, { a: circuits, b: undefined });
  },

  "a worker reports that its event loop is blocked, with and without the job that blocks it, until it isn't": async (
    open,
  ) => {
    await using t = await open();
    const blocked = { since: 1_700_000_000_123, task: "processor-2", class: "Spin", jid: "a".repeat(24) };
    const report = async (more: Parameters<typeof workerRecord>[1]) => {
      await t.store.workers.heartbeat(workerRecord("host:1:aaaaaaaaaaaa", more), TTL_MS);
      return (await t.store.workers.list())[0]!.blocked;
    };
    assertEquals(await report({}), undefined);
    assertEquals(await report({ blocked }), blocked);
    assertEquals(await report({ blocked: { since: 7 } }), { since: 7 });
    assertEquals(await report({}), undefined);
  },
  "the latest heartbeat counts": async (open) => {
    await using t = await open();
    const work = [{ task: "processor-1", queue: "default", payload: job(1).payload, since: 1_700_000_000_000 }];
    await t.store.workers.heartbeat(workerRecord("host:1:aaaaaaaaaaaa", { busy: 1, work }), TTL_MS);
    await t.store.workers.heartbeat(
      workerRecord("host:1:aaaaaaaaaaaa", {
        ...{
          quiet: true,
          quietSince: 1_700_000_000_000,
          stopping: true,
          processKey: "b0:1:2",
          owner: "ann",
          program: true,
        },
      }),
      TTL_MS,
    );
    const all = await t.store.workers.list();
    assertEquals(
      all.map(({ busy, work, quiet, quietSince, stopping, processKey, owner, program }) => (
        { busy, work, quiet, quietSince, stopping, processKey, owner, program }
      )),
      [{
        busy: 0,
        work: [],
        quiet: true,
        quietSince: 1_700_000_000_000,
        stopping: true,
        processKey: "b0:1:2",
        owner: "ann",
        program: true,
      }],
    );
  },

  "a worker without a heartbeat in time isn't alive, and isn't counted": async (open) => {
    await using t = await open();
    await register(t.store, "host:1:aaaaaaaaaaaa");
    t.advance(LAPSE_MS);
    await register(t.store, "host:2:bbbbbbbbbbbb");
    const seen = (await t.store.workers.list()).filter((one) => one.alive).map((one) => one.id);
    assertEquals(seen, ["host:2:bbbbbbbbbbbb"]);
    assertEquals((await t.store.admin.stats()).workers, 1);
  },

  "a heartbeat in time hasn't lapsed, and the worker keeps its leases": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 3));
    const tokens = (await takeUpTo(t.store, worker)).map((lease) => lease.token);
    await rescueFor(await t.another(), 100, 3);
    assertEquals((await t.store.workers.heartbeat(workerRecord(worker), TTL_MS)).lapsed, false);
    assertEquals(await t.store.jobs.stillLeased(worker, tokens), tokens);
  },

  "the first heartbeat after a rescue reports the lapse once, and stillLeased returns what is left": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 3));
    const tokens = (await takeUpTo(t.store, worker)).map((lease) => lease.token);
    await lapse(t);
    const other = await t.another();
    assertEquals((await rescueFor(other, 2, 3)).rescued, 2);
    assertEquals((await t.store.workers.heartbeat(workerRecord(worker), TTL_MS)).lapsed, true);
    const held = await t.store.jobs.stillLeased(worker, tokens);
    assertEquals(held.length, 1, "of three");
    assertEquals((await rescueFor(other)).rescued, 0, "after its beat it keeps what it has");
    assertEquals((await t.store.workers.heartbeat(workerRecord(worker), TTL_MS)).lapsed, false);
    assertEquals(await t.store.jobs.stillLeased(worker, tokens), held);
    const another = await register(other, "host:2:bbbbbbbbbbbb");
    await takeUpTo(other, another);
    assertEquals(await t.store.jobs.stillLeased(worker, tokens), held, "what another has taken again is not held here");
  },

  "a second rescue is reported again": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const other = await t.another();
    await t.store.jobs.enqueue([job(1)]);
    const past: string[] = [];
    for (let i = 0; i < 2; i++) {
      const tokens = (await takeUpTo(t.store, worker)).map((lease) => lease.token);
      assertEquals(await t.store.jobs.stillLeased(worker, past), [], "the job's new lease is not its old one");
      past.push(...tokens);
      await lapse(t);
      await rescueFor(other, 100, 9);
      assertEquals((await t.store.workers.heartbeat(workerRecord(worker), TTL_MS)).lapsed, true);
      assertEquals(await t.store.jobs.stillLeased(worker, tokens), []);
    }
  },

  "stillLeased excludes settled leases, those of others, and invalid tokens": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const other = await register(t.store, "host:2:bbbbbbbbbbbb");
    await t.store.jobs.enqueue(jobs(1, 3));
    const [settled, kept] = await takeUpTo(t.store, worker, 2);
    const [foreign] = await takeUpTo(t.store, other, 1);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: settled!.token }]);
    const asked = [settled!.token, kept!.token, foreign!.token, "", "no token"];
    assertEquals(await t.store.jobs.stillLeased(worker, asked), [kept!.token]);
    assertEquals(await t.store.jobs.stillLeased(worker, []), []);
  },

  "a removed worker is registered again by its next heartbeat": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await lapse(t);
    await rescueFor(t.store);
    const known = async () => (await t.store.workers.list()).map((one) => [one.id, one.alive]);
    assertEquals(await known(), [[RESCUER, true]]);
    await register(t.store, worker);
    assertEquals(await known(), [[RESCUER, true], [worker, true]]);
  },
};
