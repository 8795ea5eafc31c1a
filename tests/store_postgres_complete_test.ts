/**
 * Transactions of an application, on a connection of it: pushes with `transaction`, and the end of a job with `ctx.complete`.
 *
 * @module
 */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createRequire } from "node:module";
import driver from "postgres";
import {
  Client,
  defineJob,
  InvalidPayload,
  type JobContext,
  openStore,
  startServer,
  type Transaction,
} from "../src/mod.ts";
import type { Outcome } from "../src/store/port/outcomes.ts";
import { jid, job, register, takeUpTo } from "./store_contract/jobs.ts";
import { until } from "./support/eventually.ts";
import { startPostgres } from "./support/postgres.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";
import { requirePackage } from "./support/tools.ts";

const postgres = await startPostgres();
Deno.test.afterAll(async () => await postgres[Symbol.asyncDispose]());

/** A connection of the application. */
interface App extends AsyncDisposable {
  /** Runs a function in a transaction, which is rolled back if it throws. */
  begin<T>(run: (transaction: Transaction, query: (text: string) => Promise<unknown>) => Promise<T>): Promise<T>;
}

const connect: Record<string, (url: string) => Promise<App>> = {
  postgres(url) {
    const sql = driver(url, { max: 4, onnotice: () => {}, max_lifetime: null });
    return Promise.resolve({
      begin: async (run) => await sql.begin((one) => run(one, (text) => one.unsafe(text))) as never,
      [Symbol.asyncDispose]: () => sql.end({ timeout: 0 }),
    });
  },
  async pg(url) {
    const pg = createRequire(import.meta.url)(`${await requirePackage("pg@8.16.3")}/pg`);
    const pool = new pg.Pool({ connectionString: url, max: 4 });
    return {
      async begin(run) {
        const one = await pool.connect();
        try {
          await one.query("BEGIN");
          const result = await run(one, (text) => one.query(text));
          await one.query("COMMIT");
          return result;
        } catch (error) {
          await one.query("ROLLBACK");
          throw error;
        } finally {
          one.release();
        }
      },
      [Symbol.asyncDispose]: () => pool.end(),
    };
  },
};

for (const kind of ["postgres", "pg"]) {
  Deno.test(`a push in a transaction of npm ${kind} is stored if and only if it commits`, async () => {
    const name = await postgres.create();
    await using store = await openStore(postgres.url(name));
    await using app = await connect[kind]!(postgres.url(name));
    const client = new Client({ store, onUnregistered: () => {} });
    const push = (transaction: Transaction) =>
      Promise.all([
        client.push("Mail", ["ada", 12345678901234567890n], { queue: "tx", id: "order-7", transaction }),
        client.push({ class: "Mail", args: ["\0'\\"], queue: "tx", in: "1h", unique_for: "2h", transaction }),
        client.pushBulk("Mail", [[1], [2]], { queue: "tx", group: "g", transaction }),
      ]);
    await assertRejects(
      () =>
        app.begin(async (transaction) => {
          await push(transaction);
          throw new Error("changed my mind");
        }),
      Error,
      "changed my mind",
    );
    assertEquals((await store.admin.stats()).queues, []);
    const [jid, later, bulk] = await app.begin((transaction) => push(transaction));
    assertEquals(bulk.map(({ kind }) => kind), ["stored", "stored"]);
    const [first, second] = await store.jobs.find([jid!, later!]);
    assertMatch(first!.payload, /"args":\["ada",12345678901234567890\],.*"enqueued_at":/);
    assertEquals(JSON.parse(second!.payload).args, ["\0'\\"]);
    assertEquals(
      await app.begin((transaction) =>
        client.push("Mail", ["ada", 12345678901234567890n], { queue: "tx", id: "order-7", transaction })
      ),
      jid,
    );
    await assertRejects(
      () => app.begin((transaction) => client.push("Mail", ["eve"], { queue: "tx", id: "order-7", transaction })),
      InvalidPayload,
      "a new one",
    );
  });

  Deno.test(`a job ends with the transaction of npm ${kind} that its handler commits`, async () => {
    const name = await postgres.create();
    await using app = await connect[kind]!(postgres.url(name));
    await app.begin((_, query) => query("CREATE TABLE done (jid text, attempt int)"));
    const complete = async (ctx: JobContext, fails = false) => {
      await app.begin(async (transaction, query) => {
        await query(`INSERT INTO done VALUES ('${ctx.jid}', ${ctx.attempt})`);
        await ctx.complete(transaction, { total: 7 });
        if (fails && ctx.attempt === 1) throw new Error("not yet");
      });
    };
    const Ends = defineJob("Ends", async (ctx) => {
      await complete(ctx);
      return "ignored";
    });
    const Again = defineJob("Again", (ctx) => complete(ctx, true), { backoff: { type: "fixed", base: 0.001 } });
    const Quiet = defineJob("Quiet", async (ctx) => await complete(ctx, true).catch(() => {}), {
      backoff: { type: "fixed", base: 0.001 },
    });
    await using server = await startServer({ store: postgres.url(name), jobs: [Ends, Again, Quiet], log: false });
    const { client, store } = server;
    for (const job of [Ends, Again, Quiet]) {
      const jid = (await client.push(job, [], { result_ttl: "1h" }))!;
      const ended = await client.result(jid);
      assertEquals(ended?.result, { total: 7 }, job.class);
      assertEquals(await postgres.sql(`SELECT attempt FROM done WHERE jid = '${jid}'`, name), job === Ends ? "1" : "2");
      assertEquals(await store.jobs.find([jid]), []);
    }
    const batch = await client.batch({ success: { class: "Ends", args: [] } }, async (add) => {
      for (let i = 0; i < 3; i++) await add(Ends, [], { unique_for: "1h", unique_key: `${i}` });
    });
    await until(async () => (await store.admin.stats()).processed >= 9, () => "the members and their callback end");
    const { succeeded, pending } = (await client.batches.get(batch.id))!;
    assertEquals([succeeded, pending], [3, 0]);
    assertEquals(await postgres.sql("SELECT count(*), count(DISTINCT jid) FROM done", name), "7|7");
    assertEquals(await postgres.sql("SELECT count(*) FROM jobs.unique_lock", name), "0");
  });
}

Deno.test("refuses pools, other stores and other values as transactions", async () => {
  const name = await postgres.create();
  await using store = await openStore(postgres.url(name));
  const sql = driver(postgres.url(name));
  const client = new Client({ store, onUnregistered: () => {} });
  await assertRejects(() => client.push("A", [], { transaction: sql }), InvalidPayload, "not its pool");
  await assertRejects(
    () => client.push("A", [], { transaction: {} as never }),
    InvalidPayload,
    "transaction is {}; expected the sql of sql.begin",
  );
  await using other = await openStore("sqlite::memory:");
  const there = new Client({ store: other, onUnregistered: () => {} });
  await assertRejects(
    () => there.push("A", [], { transaction: sql }),
    InvalidPayload,
    "only a store in a PostgreSQL database",
  );
  await sql.end();
});

Deno.test("a commit whose reply is lost ends the job once, and a backend killed before it runs it again", async () => {
  const name = await postgres.create();
  await postgres.sql("CREATE TABLE done (jid text, attempt int)", name);
  await using proxy = await TcpProxy.start(postgres.port);
  const seen: string[] = [];
  const Ends = defineJob("Ends", async (ctx, how: string) => {
    seen.push(`${how} ${ctx.attempt}`);
    await using app = await connect.postgres!(postgres.url(name, proxy.port));
    await app.begin(async (transaction, query) => {
      const [{ pid }] = await query("SELECT pg_backend_pid() AS pid") as [{ pid: number }];
      await query(`INSERT INTO done VALUES ('${ctx.jid}', ${ctx.attempt})`);
      await ctx.complete(transaction);
      if (how === "lost reply") proxy.cutNextAnswer();
      else if (ctx.attempt === 1) await postgres.sql(`SELECT pg_terminate_backend(${pid})`, name);
    });
  }, { backoff: { type: "fixed", base: 0.001 }, result_ttl: "1h" });
  await using server = await startServer({ store: postgres.url(name), jobs: [Ends], log: false });
  for (const how of ["lost reply", "killed"]) {
    const jid = (await server.client.push(Ends, [how]))!;
    await server.client.result(jid);
    assertEquals(
      await postgres.sql(`SELECT attempt FROM done WHERE jid = '${jid}'`, name),
      how === "killed" ? "2" : "1",
    );
  }
  assertEquals(seen, ["lost reply 1", "killed 1", "killed 2"]);
});

Deno.test("a job that another worker has by now doesn't end, and its transaction is rolled back", async () => {
  const name = await postgres.create();
  await postgres.sql("CREATE TABLE done (jid text)", name);
  await using app = await connect.postgres!(postgres.url(name));
  const errors: string[] = [];
  const Ends = defineJob("Ends", async (ctx) => {
    await postgres.sql("UPDATE jobs.lease SET take = take + 1", name);
    await app.begin(async (transaction, query) => {
      await query(`INSERT INTO done VALUES ('${ctx.jid}')`);
      await ctx.complete(transaction);
    }).catch((error) => {
      errors.push(error.name);
      throw error;
    });
  });
  await using server = await startServer({ store: postgres.url(name), jobs: [Ends], log: false });
  await server.client.push(Ends, []);
  await until(() => errors.length > 0, () => "the handler is refused");
  assertEquals(errors, ["LeaseLost"]);
  assertEquals(await postgres.sql("SELECT count(*) FROM done", name), "0");
  assertEquals(await postgres.sql("SELECT count(*) FROM jobs.lease", name), "1");
});

Deno.test("a child ends in a transaction at READ COMMITTED only: at others it doesn't see that its parent sleeps", async () => {
  const name = await postgres.create();
  await using store = await openStore(postgres.url(name));
  const sql = driver(postgres.url(name), { max: 1, onnotice: () => {}, max_lifetime: null });
  try {
    const worker = await register(store);
    await store.jobs.enqueue([job(1), job(2)]);
    const [child, plain] = await takeUpTo(store, worker, 2);
    const parent = { jid: jid(9), step: "c", state: "succeeded", outcome: `"value":1` } as const;
    const settle = (outcome: Outcome) =>
      sql.begin("ISOLATION LEVEL REPEATABLE READ", (one) => store.transactions!.settle(one, worker, [outcome]));
    await assertRejects(() => settle({ kind: "ack", token: child!.token, parent }), Error, "READ COMMITTED");
    assertEquals(await settle({ kind: "ack", token: plain!.token }), { lost: [], dropped: 0 });
    assertEquals(await store.jobs.stillLeased(worker), [child!.token]);
  } finally {
    await sql.end({ timeout: 0 });
  }
});

Deno.test("a throttle accepts no more in a transaction with an older snapshot: the push raises 40001", async () => {
  const name = await postgres.create();
  await (await openStore(postgres.url(name)))[Symbol.asyncDispose]();
  const sql = driver(postgres.url(name), { max: 2, onnotice: () => {}, max_lifetime: null });
  const push = (on: Pick<typeof sql, "unsafe">) => on.unsafe("SELECT jobs.push('Mail', throttle => '1/1h') AS jid");
  try {
    await sql.unsafe("SELECT jobs.push('Mail')"); // so that the queue is there
    const error = await assertRejects(() =>
      sql.begin("ISOLATION LEVEL REPEATABLE READ", async (one) => {
        await one.unsafe("SELECT count(*) FROM jobs.job");
        await push(sql);
        await push(one);
      })
    );
    assertEquals((error as { code?: string }).code, "40001");
    const second = await sql.begin("ISOLATION LEVEL REPEATABLE READ", (one) => push(one));
    assertEquals(second.map(({ jid }) => jid), [null]);
    assertEquals(await postgres.sql("SELECT count(*) FROM jobs.job", name), "2");
  } finally {
    await sql.end({ timeout: 0 });
  }
});
