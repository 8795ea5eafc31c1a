/**
 * PostgreSQL when the other side stands still: a line that drops everything, a client in the middle of a transaction, a slot
 * without a reader. And what is left of processes that are gone.
 *
 * @module
 */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { systemClock } from "../src/clock.ts";
import { openStore } from "../src/store/open.ts";
import { StoreError } from "../src/store/port/errors.ts";
import type { RescueResult } from "../src/store/port/jobs.ts";
import { parseAddress } from "../src/store/postgres/address.ts";
import { Client } from "../src/store/postgres/client.ts";
import { jid, job, jobs, lapse, register, RESCUER, takeUpTo } from "./store_contract/jobs.ts";
import { until } from "./support/eventually.ts";
import { startPostgres } from "./support/postgres.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

const postgres = await startPostgres({ config: { wal_level: "logical" } });
/** Its connections stay open when a test ends. */
const stuck = await TcpProxy.start(postgres.port);
Deno.test.afterAll(async () => {
  await stuck[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

const connect = (url: string, timeouts = { replyTimeoutMs: 500, idleTimeoutMs: 200 }) =>
  Client.create(parseAddress(url), { waitMs: 10_000, ...timeouts });

Deno.test("a silent line is left, for statements and transactions", async () => {
  await using proxy = await TcpProxy.start(postgres.port);
  const client = await connect(postgres.url("postgres", proxy.port));
  for (
    const ask of [
      () => client.run("SELECT 1 AS one"),
      () => client.transaction("1 AS one", (query) => query("SELECT 1 AS one", [])),
    ]
  ) {
    await ask();
    proxy.freeze();
    assertEquals((await ask())[0]!.one, 1);
  }
  await client.close();
});

Deno.test("a store that closes while it connects leaves no timer and no connection", async () => {
  stuck.weather = "held";
  const store = await openStore(`${postgres.url(await postgres.create())}?listen=127.0.0.1:${stuck.port}`);
  const waiting = store.watch({ work: ["default"] }, new AbortController().signal);
  await until(() => stuck.accepted > 0, () => "it connects");
  await store[Symbol.asyncDispose]();
  assertEquals(await waiting, false);
});

Deno.test("a host that closes connections at once is reported, and the next one is used", async () => {
  await using proxy = await TcpProxy.start(postgres.port);
  proxy.weather = "closed";
  const client = await Client.create(parseAddress(postgres.url("postgres", proxy.port)), { waitMs: 100 });
  await assertRejects(() => client.run("SELECT 1"), StoreError, "closed the connection at once");
  await client.close();
  const hosts = `postgres://postgres@127.0.0.1:${proxy.port},127.0.0.1:${postgres.port}/postgres`;
  const other = await connect(hosts);
  assertEquals((await other.run("SELECT 1 AS one"))[0]!.one, 1);
  await other.close();
});

Deno.test("statements on new connections don't get the errors that ended earlier ones", async () => {
  const name = await postgres.create();
  await postgres.sql("CREATE TABLE ran (number int)", name);
  const client = await connect(postgres.url(name), { replyTimeoutMs: 60_000, idleTimeoutMs: 5_000 });
  const options = { isRepeatable: false };
  const four = (text: (i: number) => string) =>
    Promise.allSettled(Array.from({ length: 4 }, (_, i) => client.run(text(i), [], options)));
  const sleeping = four(() => "SELECT pg_sleep(60)");
  const sleepers = `FROM pg_stat_activity WHERE datname = '${name}' AND wait_event = 'PgSleep'`;
  await until(
    async () => await postgres.sql(`SELECT count(*) ${sleepers}`) === "4",
    () => "all connections are in use",
  );
  await postgres.sql(`SELECT pg_terminate_backend(pid) ${sleepers}`);
  assertEquals((await sleeping).map(({ status }) => status), Array(4).fill("rejected"));
  const ran = await four((i) => `INSERT INTO ran VALUES (${i}) RETURNING number`);
  assertEquals(ran.map((one) => one.status === "rejected" ? String(one.reason) : one.value[0]!.number), [0, 1, 2, 3]);
  await client.close();
});

Deno.test("an error of the system when it connects isn't one of the statement", async () => {
  // As too few descriptors or ports: the server hasn't seen the statement.
  const client = await Client.create(parseAddress(`postgres:///postgres?host=/tmp/${"long".repeat(50)}`), {
    waitMs: 100,
  });
  const error = await assertRejects(() => client.run("SELECT 1"), StoreError, "is not available: connect EINVAL");
  assertEquals(error.code, "unavailable");
  await client.close();
});

Deno.test("a client that stands still in a transaction holds up no other one, and repeats it", async () => {
  const [still, other] = [await connect(postgres.url()), await connect(postgres.url())];
  const lock = "SELECT pg_advisory_xact_lock(7)";
  const { promise: going, resolve: go } = Promise.withResolvers<void>();
  const { promise: locked, resolve: hasLocked } = Promise.withResolvers<void>();
  let runs = 0;
  const first = still.transaction("1 AS one", async (query) => {
    runs++;
    await query(lock, []);
    hasLocked();
    await going;
    return await query("SELECT 2 AS two", []);
  });
  await locked;
  await other.transaction("1 AS one", (query) => query(lock, []));
  go();
  assertEquals((await first)[0]!.two, 2);
  assertEquals(runs, 2);
  await Promise.all([still.close(), other.close()]);
});

Deno.test("a client that stands still after it has sent a new statement holds up no other transaction", async () => {
  await using proxy = await TcpProxy.start(postgres.port);
  const still = await connect(postgres.url("postgres", proxy.port), { replyTimeoutMs: 60_000, idleTimeoutMs: 200 });
  const other = await connect(postgres.url(), { replyTimeoutMs: 20_000, idleTimeoutMs: 20_000 });
  const lock = "SELECT pg_advisory_xact_lock(8)";
  const { promise: locked, resolve: hasLocked } = Promise.withResolvers<void>();
  let runs = 0;
  const first = still.transaction("1 AS one", async (query) => {
    await query(lock, []);
    if (runs++ === 0) proxy.dropReplies();
    hasLocked();
    return await query("SELECT $1::bigint AS run", [runs]);
  });
  await locked;
  await other.transaction("1 AS one", (query) => query(lock, []));
  assertEquals((await first)[0]!.run, 2);
  await Promise.all([still.close(), other.close()]);
});

Deno.test("a transaction whose last statement failed is not reported as committed", async () => {
  const client = await connect(postgres.url());
  // As bodies of verbs do: they don't wait for statements that return no rows.
  const write = () =>
    client.transaction("1 AS one", (query) => {
      query("INSERT INTO nowhere VALUES (1)", []).catch(() => {});
      return Promise.resolve();
    });
  await assertRejects(write, StoreError, "nowhere");
  await client.close();
});

Deno.test("a statement with an outdated plan is repeated, and those sent with it get their answers", async () => {
  const name = await postgres.create();
  await postgres.sql("CREATE TABLE changing (one bigint); INSERT INTO changing VALUES (1)", name);
  const client = await connect(postgres.url(name), { replyTimeoutMs: 60_000, idleTimeoutMs: 60_000 });
  const ask = (n: number) => client.run(`SELECT *, $1::bigint AS asked, ${n} AS text FROM changing`, [n]);
  const wrong: unknown[] = [];
  const askAll = () =>
    Promise.all(Array.from({ length: 40 }, async (_, i) => {
      for (let round = 0; round < 10; round++) {
        const [row] = await ask(i % 20);
        if (row!.asked !== row!.text) wrong.push(row);
      }
    }));
  await askAll();
  await postgres.sql("ALTER TABLE changing ALTER one TYPE text", name);
  await askAll();
  assertEquals(wrong, []);
  await client.close();
});

Deno.test("a statement that is cancelled is repeated: by itself, in a transaction, and while a store is opened", async () => {
  const name = await postgres.create();
  const url = postgres.url(name);
  await using store = await openStore(url);
  const client = await connect(url, { replyTimeoutMs: 60_000, idleTimeoutMs: 60_000 });
  const waiting = "wait_event_type = 'Lock' AND datname = current_database()";
  for (
    const [what, table] of [
      [() => store.jobs.enqueue(jobs(1, 1)), "job"],
      [() => store.admin.page({ in: "queue", queue: "default" }, { limit: 1 }), "queued"],
      [() => store.admin.configure("default", { limit: { running: 5 } }), "queue_row"],
      [async () => await (await openStore(url))[Symbol.asyncDispose](), "meta"],
    ] as const
  ) {
    let done: Promise<unknown> | undefined;
    let isOver = false;
    await client.transaction("1 AS one", async (query) => {
      await query(`LOCK TABLE jobs.${table} IN ACCESS EXCLUSIVE MODE`, []);
      done = what().finally(() => isOver = true);
      const cancelled = new Set<string>();
      // Each repetition is another statement.
      await until(async () => {
        const rows = await postgres.sql(
          `SELECT pg_cancel_backend(pid), pid || ' ' || query_start FROM pg_stat_activity WHERE ${waiting}`,
          name,
        );
        for (const row of rows.split("\n").filter(Boolean)) cancelled.add(row);
        return isOver || cancelled.size >= 2;
      }, `${table}: its statements are cancelled`);
    });
    await done;
  }
  await client.close();
});

Deno.test("the rows of a statement that fails in the middle of them don't move those of the next one", async () => {
  const client = await connect(postgres.url());
  // Each connection returns two rows and an error.
  await Promise.allSettled(
    Array.from({ length: 8 }, () => client.run("SELECT 1 / (3 - n) FROM generate_series(1, 5) AS n")),
  );
  for (let i = 0; i < 8; i++) assertEquals(await client.run("SELECT 1 AS one"), [{ one: 1 }]);
  await client.close();
});

Deno.test("a statement that always takes longer than the server allows fails, and says so", async () => {
  const name = await postgres.create();
  await postgres.sql(`ALTER DATABASE ${name} SET statement_timeout = 50`);
  const client = await Client.create(parseAddress(postgres.url(name)), { waitMs: 100 });
  const { code, message } = await assertRejects(() => client.run("SELECT pg_sleep(60)"), StoreError);
  assertEquals(code, "unavailable");
  assertMatch(message, /cancelled a statement each time \(.*statement timeout\): raise the statement_timeout/);
  await client.close();
});

Deno.test("pushers that are gone are forgotten", async () => {
  const name = await postgres.create();
  await using store = await openStore(postgres.url(name));
  await store.jobs.enqueue(jobs(1, 1));
  await postgres.sql("INSERT INTO jobs.pusher (client, number, at) VALUES (1, 1, jobs.now_ms(0) - 3700000)", name);
  await store.admin.stats();
  assertEquals(await postgres.sql("SELECT count(*), count(*) FILTER (WHERE client = 1) FROM jobs.pusher", name), "1|0");
});

Deno.test("a worker that is gone keeps its number while it takes: its leases would have no worker", async () => {
  const name = await postgres.create();
  await using store = await openStore(postgres.url(name));
  const take = (worker: string) => store.jobs.take({ queues: ["default"], limit: 1, worker });
  const numbers = () => postgres.sql("SELECT string_agg(worker, ' ' ORDER BY id) FROM jobs.lease_worker", name);
  await take("gone");
  // The transaction stays open while others run, however busy the machine is.
  const client = await connect(postgres.url(name), { replyTimeoutMs: 60_000, idleTimeoutMs: 60_000 });
  await client.transaction("1 AS one", async (query) => {
    await query("SELECT jobs.worker_number('gone')", []);
    await take("new");
    assertEquals(await numbers(), "gone new");
  });
  await client.close();
  await take("newer");
  assertEquals(await numbers(), "newer");
});

Deno.test("a heartbeat waits for a rescue that has judged its worker: it must not find leases that are given back", async () => {
  const name = await postgres.create();
  let ahead = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + ahead };
  await using store = await openStore(postgres.url(name), { clock });
  await using other = await openStore(postgres.url(name), { clock });
  const [first, second] = ["host:1:aaaaaaaaaaaa", "host:2:bbbbbbbbbbbb"] as const;
  await store.jobs.enqueue(jobs(1, 2));
  const takeOne = async (worker: string) => (await takeUpTo(store, await register(store, worker), 1))[0]!.token;
  await takeOne(first);
  const token = await takeOne(second);
  await lapse({ store, advance: (ms) => ahead += ms });
  const client = await connect(postgres.url(name), { replyTimeoutMs: 60_000, idleTimeoutMs: 60_000 });
  const blocked = async () =>
    Number(await postgres.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'", name));
  let left: Promise<readonly string[]> | undefined;
  let rescuing: Promise<RescueResult> | undefined;
  await client.transaction("1 AS one", async (query) => {
    // The rescue has judged both workers when it waits for the row of the first.
    await query(`SELECT 1 FROM jobs.worker WHERE id = '${first}' FOR UPDATE`, []);
    rescuing = store.jobs.rescue({ worker: RESCUER, limit: 10, maxRescues: 3 });
    await until(async () => await blocked() === 1, "the rescue waits");
    let isFound = false;
    left = register(other, second).then(() => other.jobs.stillLeased(second, [token])).finally(() => isFound = true);
    await until(async () => isFound || await blocked() === 2, "the heartbeat waits, or has ended");
  });
  assertEquals([(await rescuing!).rescued, await left], [2, []]);
  await client.close();
});

Deno.test("a rescue of many workers takes a hundred at a time: the server has a lock for each", async () => {
  const name = await postgres.create();
  let ahead = 0;
  await using store = await openStore(postgres.url(name), {
    clock: { ...systemClock, now: () => systemClock.now() + ahead },
  });
  for (let i = 0; i < 101; i++) await register(store, `host:${i + 1}:aaaaaaaaaaaa`);
  await lapse({ store, advance: (ms) => ahead += ms });
  const rescue = async () => {
    const { offline, more } = await store.jobs.rescue({ worker: RESCUER, limit: 10, maxRescues: 3 });
    return [offline.length, more];
  };
  assertEquals([await rescue(), await rescue()], [[100, true], [1, false]]);
});

Deno.test("stores of one database don't share locks", async () => {
  const name = await postgres.create();
  for (const schema of ["a", "b"]) {
    await (await openStore(`${postgres.url(name)}?schema=${schema}`))[Symbol.asyncDispose]();
  }
  const locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
  const text = `BEGIN; SELECT a.lock_names('{x}'), b.lock_names('{x}'); ${locks}; COMMIT`;
  assertEquals((await postgres.sql(text, name)).split("\n").at(-1), "2");
});

Deno.test("health names a replication slot that holds dead rows, by its transactions", async () => {
  const name = await postgres.create();
  await using store = await openStore(postgres.url(name));
  await postgres.sql("SELECT pg_create_logical_replication_slot('forgotten', 'pgoutput')", name);
  assertEquals((await store.admin.health()).findings, []);
  await postgres.sql(
    `CREATE TABLE used (one int); DO $$ BEGIN FOR i IN 1..100100 LOOP BEGIN INSERT INTO used VALUES (i); EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$`,
    name,
  );
  const [finding] = (await store.admin.health()).findings;
  assertMatch(
    finding!.message,
    /^replication slot forgotten without a reader: it has kept dead rows of 100\d{3} transactions/,
  );
  assertEquals(finding!.cure, "SELECT pg_drop_replication_slot('forgotten')");
});

Deno.test("acknowledged pushes and settlements survive a killed server, and each job ends once", async () => {
  await using server = await startPostgres();
  await using store = await openStore(server.url(await server.create()), { waitMs: 60_000 });
  const worker = await register(store);
  const ended: string[] = [];
  let isPushed = false;
  const push = async () => {
    for (let i = 1; i <= 300; i++) await store.jobs.enqueue([job(i)]);
    isPushed = true;
  };
  const work = async () => {
    for (;;) {
      const last = isPushed;
      const leases = await takeUpTo(store, worker, 10);
      if (leases.length === 0 && last) return;
      const { lost } = await store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack", token })));
      ended.push(...leases.filter(({ token }) => !lost.includes(token)).map(({ payload }) => JSON.parse(payload).jid));
    }
  };
  const kill = async () => {
    while (!isPushed) {
      await until(() => ended.length % 40 > 20 || isPushed, () => "jobs end");
      await server.kill();
      await server.start();
      await until(() => ended.length % 40 < 20 || isPushed, () => "jobs end");
    }
  };
  await Promise.all([push(), work(), kill()]);
  assertEquals(ended.toSorted(), Array.from({ length: 300 }, (_, i) => jid(i + 1)).toSorted());
});
