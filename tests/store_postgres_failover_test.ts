/**
 * The failover to an asynchronous replica that lags: what it doesn't have is lost, and nothing else.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Store } from "../src/store/admin/store.ts";
import { openStore } from "../src/store/open.ts";
import type { Lease } from "../src/store/port/jobs.ts";
import { job, jobs, numbers, register, takeUpTo } from "./store_contract/jobs.ts";
import { until } from "./support/eventually.ts";
import { startPostgres } from "./support/postgres.ts";
import { WRONG } from "./support/postgres_stores.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

Deno.test("after a failover to a replica that lags, what it had runs, once, and only what it didn't have is lost", async () => {
  await using primary = await startPostgres();
  const name = await primary.create();
  await using replication = await TcpProxy.start(primary.port);
  await using replica = await startPostgres({ replicaOf: { server: primary, port: replication.port } });
  let target = primary.port;
  await using line = await TcpProxy.start(() => target);
  await using store = await openStore(primary.url(name, line.port), { waitMs: 60_000 });
  const worker = await register(store);
  const ended: number[] = [];
  /** Acknowledges. Returns those that were refused. */
  const ack = async (leases: readonly Lease[]) => {
    const { lost } = await store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack", token })));
    ended.push(...numbers(leases.filter(({ token }) => !lost.includes(token))) as number[]);
    return numbers(leases.filter(({ token }) => lost.includes(token)));
  };
  const take = async (count: number) => {
    const leases = await takeUpTo(store, worker, count);
    return (from: number, to: number) =>
      leases.filter((_, i) => from <= Number(numbers(leases)[i]) && Number(numbers(leases)[i]) <= to);
  };

  await store.jobs.enqueue(jobs(1, 20));
  await store.jobs.enqueue([job(21, { delayMs: 1 }), job(22, { unique: { key: "a", ttlMs: 60_000 } })]);
  const first = await take(5);
  await ack(first(1, 3));
  await reached(primary, replica);
  replication.weather = "held";
  // Of these, the replica has nothing.
  await ack(first(4, 4));
  const second = await take(5);
  await ack(second(6, 7));
  await store.jobs.enqueue(jobs(31, 40));
  await store.jobs.enqueue([job(41, { unique: { key: "b", ttlMs: 60_000 } })]);
  await until(async () => (await store.jobs.promote(10)).moved > 0, () => "the scheduled job is due");
  assertEquals(ended.splice(0), [1, 2, 3, 4, 6, 7]);

  await primary.kill();
  await replica.sql("SELECT pg_promote()");
  target = replica.port;
  await store.jobs.enqueue([job(51)]);
  const unique = await store.jobs.enqueue(["a", "b"].map((key, i) => job(61 + i, { unique: { key, ttlMs: 60_000 } })));
  assertEquals(unique.map(({ kind }) => kind), ["duplicate", "stored"]);
  // Their take is lost: they are queued.
  assertEquals(await ack(second(8, 10)), [8, 9, 10]);
  // Its take isn't.
  assertEquals(await ack(first(5, 5)), []);
  const expected = [...range(4, 22), 51, 62];
  await until(async () => {
    await store.jobs.promote(10);
    await ack((await take(100))(1, 100));
    return ended.length >= expected.length;
  }, () => `all run: ${ended}`);
  assertEquals(ended.toSorted((a, b) => a - b), expected);
  await assertEmpty(store);
  assertEquals(await replica.sql(WRONG, name), "");
});

/** Waits until a replica has everything. */
async function reached(primary: { sql(text: string): Promise<string> }, replica: typeof primary): Promise<void> {
  const at = await primary.sql("SELECT pg_current_wal_lsn()");
  await until(
    async () => await replica.sql(`SELECT pg_last_wal_replay_lsn() >= '${at}'`) === "t",
    () => "the replica has everything",
  );
}

async function assertEmpty(store: Store): Promise<void> {
  const { enqueued, scheduled, retry, running, dead } = await store.admin.stats();
  assertEquals([enqueued, scheduled, retry, running, dead], [0, 0, 0, 0, 0]);
}
