/**
 * Transactions of an application that stay open: they hold up nothing but what they have changed.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import driver from "postgres";
import { systemClock } from "../src/clock.ts";
import { openStore, type Store, type Transaction } from "../src/mod.ts";
import { Counters } from "../src/server/stats/counters.ts";
import { Settler } from "../src/server/work/settler.ts";
import type { Outcome } from "../src/store/port/outcomes.ts";
import { ID as FLOW, start as startFlow } from "./store_contract/flow_nodes.ts";
import { HOUR_MS, jid, job, register, takeUpTo } from "./store_contract/jobs.ts";
import { until } from "./support/eventually.ts";
import { KeptLog } from "./support/log.ts";
import { startPostgres } from "./support/postgres.ts";
import { jobs } from "./support/process.ts";

const WORKER = "host:1:aaaaaaaaaaaa";

const postgres = await startPostgres();
Deno.test.afterAll(async () => await postgres[Symbol.asyncDispose]());

type Sql = ReturnType<typeof driver>;

/** A store, and an application's connections to its database. */
interface Place extends AsyncDisposable {
  readonly store: Store;
  readonly name: string;
  readonly url: string;
  /** Opens a transaction in which these statements have run. It is rolled back in the end. */
  begin(...texts: readonly string[]): Promise<Open>;
}

/** An open transaction. */
interface Open {
  readonly pid: number;
  query(text: string, values?: unknown[]): Promise<unknown>;
  end(as?: "COMMIT" | "ROLLBACK"): Promise<void>;
}

async function place(): Promise<Place> {
  const name = await postgres.create();
  const url = postgres.url(name);
  const store = await openStore(url);
  const all: Sql[] = [];
  return {
    ...{ store, name, url },
    async begin(...texts) {
      const sql = driver(url, { max: 1, onnotice: () => {}, max_lifetime: null, connection: { search_path: "jobs" } });
      all.push(sql);
      const run = async (text: string, values?: unknown[]) => await sql.unsafe(text, values as never);
      await run("BEGIN");
      for (const text of texts) await run(text);
      const [row] = await sql.unsafe("SELECT pg_backend_pid() AS pid");
      return { pid: Number(row!.pid), query: run, end: async (as = "ROLLBACK") => void await run(as) };
    },
    async [Symbol.asyncDispose]() {
      for (const sql of all) await sql.end({ timeout: 0 });
      await store[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a newer version starts while an application's transaction is open, and holds up neither pushes nor takes", async () => {
  await using t = await place();
  const { store, name, url } = t;
  await register(store, WORKER);
  await store.jobs.enqueue([job(1)]);
  // The roles of a schema get their rights at the start of a newer version.
  await postgres.sql(
    "CREATE ROLE jobs_work NOLOGIN; CREATE ROLE jobs_push NOLOGIN; UPDATE jobs.meta SET functions = 0",
    name,
  );
  const open = await t.begin("SELECT push('A', queue => 'default')");
  await (await openStore(url))[Symbol.asyncDispose]();
  await store.jobs.enqueue([job(2)]);
  assertEquals((await takeUpTo(store, WORKER, 3)).length, 2);
  await open.end("COMMIT");
  assertEquals((await takeUpTo(store, WORKER, 3)).length, 1);
});

Deno.test("an older version that starts leaves the functions of a newer one as they are", async () => {
  await using t = await place();
  const { name, url } = t;
  await postgres.sql(
    `CREATE OR REPLACE FUNCTION jobs.all_paused(now bigint) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT false AS newer';
     UPDATE jobs.meta SET functions = 1000000`,
    name,
  );
  await (await openStore(url))[Symbol.asyncDispose]();
  const there = "SELECT functions, prosrc FROM jobs.meta, pg_proc WHERE proname = 'all_paused'";
  assertEquals(await postgres.sql(there, name), "1000000|SELECT false AS newer");
});

const UNIQUE = { key: "k", ttlMs: HOUR_MS };

/** Waits until this many sessions of the database wait for a lock. */
async function waiting(name: string, count: number): Promise<void> {
  const sessions =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  await until(async () => Number(await postgres.sql(sessions, name)) === count, `${count} sessions wait`);
}

Deno.test("a push that is refused in an open transaction locks nothing", async () => {
  await using t = await place();
  const { store } = t;
  await register(store, WORKER);
  const started = { ...job(2), payload: job(2).payload.replace("{", `{"unique_key":"s","unique_until":"start",`) };
  await store.jobs.enqueue([job(1, { unique: UNIQUE }), { ...started, unique: { key: "s", ttlMs: HOUR_MS } }]);
  await store.jobs.enqueue([job(3, { once: { key: "o", ttlMs: HOUR_MS } })]);
  const pushes = JSON.stringify([
    job(11, { unique: UNIQUE }),
    job(12, { unique: { key: "s", ttlMs: HOUR_MS } }),
    job(13, { once: { key: "o", ttlMs: HOUR_MS } }),
    job(14, { once: { key: "own", ttlMs: HOUR_MS }, unique: UNIQUE }),
  ]);
  const open = await t.begin(`SELECT push_built('${pushes}')`);
  const locks = `SELECT count(*) FROM pg_locks WHERE pid = ${open.pid} AND locktype = 'advisory'`;
  assertEquals(await postgres.sql(locks), "0");
  // The holders start and end, and the keys are taken again.
  const leases = await takeUpTo(store, WORKER, 3);
  assertEquals(leases.length, 3);
  await store.jobs.settle(
    WORKER,
    leases.map(({ token }, i) => ({ kind: "ack", token, jid: jid(i + 1), ...(i === 0 && { unlock: "k" }) })),
  );
  const again = await store.jobs.enqueue([
    job(21, { unique: UNIQUE }),
    job(22, { unique: { key: "s", ttlMs: HOUR_MS } }),
    job(23, { once: { key: "o", ttlMs: HOUR_MS } }),
  ]);
  assertEquals(again.map(({ kind }) => kind), ["stored", "stored", "existing"]);
});

Deno.test("calls with the same keys in another order don't wait for each other in a circle, and store in the order of the call", async () => {
  await using t = await place();
  const { store, name } = t;
  const of = (from: number, keys: readonly string[]) =>
    keys.map((key, i) => job(from + i, { unique: { key, ttlMs: HOUR_MS } }));
  const holder = await t.begin(
    `SELECT push_built('${JSON.stringify([job(1, { unique: { key: "b", ttlMs: HOUR_MS }, queue: "other" })])}')`,
  );
  await store.jobs.enqueue([job(2)]);
  const calls = [store.jobs.enqueue(of(10, ["a", "b", "c"]))];
  await waiting(name, 1);
  calls.push(store.jobs.enqueue(of(20, ["c", "b", "a", "d"])));
  await waiting(name, 2);
  await holder.end("ROLLBACK");
  const [first, second] = await Promise.all(calls);
  assertEquals(first!.map(({ kind }) => kind), ["stored", "stored", "stored"]);
  assertEquals(second!.map(({ kind }) => kind), ["duplicate", "duplicate", "duplicate", "stored"]);
  const { entries } = await store.admin.page({ in: "queue", queue: "default" });
  assertEquals(entries.map(({ payload }) => JSON.parse(payload).jid), [2, 10, 11, 12, 23].map(jid));
});

/** Takes jobs of which the first is a member of a batch, to which an open transaction adds another one. */
async function withHeldMember(t: Place, count: number): Promise<{ readonly outcomes: Outcome[]; readonly open: Open }> {
  const { store } = t;
  await register(store, WORKER);
  await store.batches.create({ id: "b", callbacks: {}, closeWithinMs: HOUR_MS, keepMs: HOUR_MS });
  const member = (n: number) => {
    const { payload } = job(n);
    return job(n, { batch: { id: "b" }, payload: payload.replace("{", `{"batch":"b","batch_counted":"pending",`) });
  };
  await store.jobs.enqueue([member(1), ...Array.from({ length: count - 1 }, (_, i) => job(i + 2))]);
  const leases = await takeUpTo(store, WORKER, count);
  assertEquals(leases.length, count);
  const outcomes = leases.map(({ token }, i): Outcome => ({
    ...{ kind: "ack", token, jid: jid(i + 1) },
    ...(i === 0 && { batch: { id: "b", from: "pending", to: "succeeded" } as const }),
  }));
  return { outcomes, open: await t.begin(`SELECT push_built('${JSON.stringify([member(100)])}')`) };
}

Deno.test("a settlement stores all but what an open transaction holds, and names its session", async () => {
  await using t = await place();
  const { store } = t;
  const { outcomes, open } = await withHeldMember(t, 41);
  const first = await store.jobs.settle(WORKER, outcomes, { skipsHeld: true });
  assertEquals([first.lost, first.held], [[], [outcomes[0]!.token]]);
  assertMatch(
    first.heldBy!,
    RegExp(
      `^session ${open.pid} \\(postgres.*\\) has held rows of .*batch.* for \\d+ s; idle in transaction, latest statement: SELECT pg_backend.*; end its transaction: SELECT pg_terminate_backend\\(${open.pid}\\)$`,
    ),
  );
  assertEquals(await store.jobs.stillLeased(WORKER), [outcomes[0]!.token]);
  // The rows of a lease name nothing that an outcome has.
  await store.jobs.enqueue(Array.from({ length: 9 }, (_, i) => job(i + 50)));
  const leases = await takeUpTo(store, WORKER, 9);
  const more = leases.map(({ token }): Outcome => ({ kind: "ack", token }));
  await open.query(`SELECT 1 FROM lease WHERE job = ${parseInt(leases[5]!.token)} FOR UPDATE`);
  const second = await store.jobs.settle(WORKER, [...more, outcomes[0]!], { skipsHeld: true });
  assertEquals([second.lost, second.held?.toSorted()], [[], [more[5]!.token, outcomes[0]!.token].toSorted()]);
  await open.end("COMMIT");
  assertEquals(await store.jobs.settle(WORKER, [more[5]!, outcomes[0]!], { skipsHeld: true }), {
    lost: [],
    dropped: 0,
  });
  assertEquals((await store.batches.read({ ids: ["b"] })).batches[0]!.pending, 1);
});

Deno.test("a worker retries what an open transaction holds, and stores what ends meanwhile", async () => {
  await using t = await place();
  const { store } = t;
  const { outcomes, open } = await withHeldMember(t, 10);
  const log = new KeptLog();
  const settler = new Settler({ store, worker: WORKER, clock: systemClock, log, counters: new Counters() });
  for (const outcome of outcomes.slice(0, 5)) settler.add(outcome);
  await until(() => settler.unsettled === 1, "the others are stored");
  for (const outcome of outcomes.slice(5)) settler.add(outcome);
  await until(
    () => settler.unsettled === 1 && log.lines.length > 0,
    "a worker stores what ends meanwhile, and logs what it waits for",
  );
  assertMatch(
    JSON.stringify(log.lines),
    RegExp(`Outcomes wait for another transaction, retrying.*${jid(1)}.*pg_terminate_backend\\(${open.pid}\\)`),
  );
  await open.end("COMMIT");
  assertEquals(await settler.flush(), true);
  assertEquals(await store.jobs.stillLeased(WORKER), []);
});

Deno.test("jobs doctor names the session that locks a table, and waits for nothing that it locks", async () => {
  await using t = await place();
  const open = await t.begin("LOCK TABLE job IN ACCESS EXCLUSIVE MODE");
  const { code, stdout } = await jobs(["doctor", "--store", t.url]);
  assertEquals(code, 0, stdout);
  assertMatch(
    stdout,
    RegExp(`session ${open.pid} \\(postgres.*\\) has held a lock on job in a transaction for \\d+ s`),
  );
  assertMatch(stdout, RegExp(`SELECT pg_terminate_backend\\(${open.pid}\\)`));
});

/** Starts a flow of two nodes, and takes the first one. Returns its outcome. */
async function firstNode(store: Store): Promise<Outcome> {
  await startFlow(store, { a: {}, b: { after: ["a"] } });
  const [lease] = await takeUpTo(store, WORKER, 2);
  const node = { id: FLOW, from: "pending", to: "succeeded", node: "a" } as const;
  return { kind: "ack", token: lease!.token, batch: node };
}

Deno.test("the end of a node waits for other flows before it changes its batch", async () => {
  await using t = await place();
  const { store, name } = t;
  const outcome = await firstNode(store);
  const holder = await t.begin("SELECT pg_advisory_xact_lock(lock_number('flows'))");
  const settled = store.jobs.settle(WORKER, [outcome]);
  await waiting(name, 1);
  await t.begin("SELECT 1 FROM batch FOR UPDATE NOWAIT").then((open) => open.end());
  await holder.end();
  assertEquals((await settled).lost, []);
  assertEquals((await takeUpTo(store, WORKER, 2)).length, 1);
});

Deno.test("a node that ends in an open transaction holds up no other flow, and the next one follows its commit", async () => {
  await using t = await place();
  const { store } = t;
  const outcome = await firstNode(store);
  const open = await t.begin();
  const { transactions } = store;
  const { lost } = await transactions!.settle({ unsafe: open.query } as unknown as Transaction, WORKER, [outcome]);
  assertEquals(lost, []);
  const locks = `SELECT count(*) FROM pg_locks WHERE pid = ${open.pid} AND locktype = 'advisory'`;
  assertEquals(await postgres.sql(locks), "0");
  assertEquals(await takeUpTo(store, WORKER, 2), []);
  await open.end("COMMIT");
  assertEquals(await transactions!.hasEnded(WORKER, outcome.token), true);
  assertEquals((await takeUpTo(store, WORKER, 2)).length, 1);
});

Deno.test("due jobs are promoted, but those of a queue that an open transaction is creating", async () => {
  await using t = await place();
  const { store } = t;
  const due = (n: number, queue: string) => ({
    ...{ ref: "", place: { in: "scheduled" } as const, at: n, payload: job(n, { queue }).payload },
  });
  await store.transfer.put("job", [due(1, "new"), due(2, "default"), due(3, "new"), due(4, "other")], "m");
  const open = await t.begin("SELECT push('A', queue => 'new')");
  assertEquals((await store.jobs.promote(10)).moved, 2);
  const left = (await store.admin.page({ in: "scheduled" })).entries;
  assertEquals(left.map(({ payload }) => JSON.parse(payload).jid), [jid(1), jid(3)]);
  await open.end("COMMIT");
  await until(async () => {
    await store.jobs.promote(10);
    return (await store.admin.stats()).scheduled === 0;
  }, "the others are promoted after its commit");
});
