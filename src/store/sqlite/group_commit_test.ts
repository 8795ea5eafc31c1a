import { assert, assertEquals, assertRejects } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { type Clock, systemClock } from "../../clock.ts";
import { StoreError } from "../port/errors.ts";
import { GroupCommit } from "./group_commit.ts";
import { BusyRetry } from "./busy_retry.ts";

/** A committer on a table of texts. */
function open() {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE word (text TEXT NOT NULL)");
  const insert = database.prepare("INSERT INTO word VALUES (?)");
  let commits = 0;
  const committer = new GroupCommit(database, {
    path: "words.db",
    clock: systemClock,
    patience: new BusyRetry({ path: "words.db", clock: systemClock, waitMs: 0 }),
    onCommit: () => void commits++,
  });
  return {
    database,
    committer,
    add: (text: string | null, rows = 1) => committer.run(() => insert.run(text).changes, { rows }),
    count: () => database.prepare("SELECT count(*) AS n FROM word").get()!.n,
    commits: () => commits,
    [Symbol.dispose]: () => database.close(),
  };
}

Deno.test("What is asked at the same moment is one transaction", async () => {
  using t = open();
  await Promise.all(Array.from({ length: 500 }, (_, i) => t.add(`${i}`)));
  assertEquals([t.count(), t.commits()], [500, 1]);
});

Deno.test("A transaction ends when it is large", async () => {
  using t = open();
  await Promise.all(Array.from({ length: 4 }, (_, i) => t.add(`${i}`, 600)));
  assertEquals([t.count(), t.commits()], [4, 2]);
});

Deno.test("The event loop turns while somebody asks again and again", async () => {
  using t = open();
  let hasTurned = false;
  const timer = setTimeout(() => hasTurned = true, 0);
  for (let i = 0; i < 10_000 && !hasTurned; i++) await t.add("again");
  clearTimeout(timer);
  assert(hasTurned);
});

Deno.test("A caller is answered after the commit, with what its operation returned", async () => {
  using t = open();
  const [one, two] = await Promise.all([
    t.add("a").then((changes) => [changes, t.database.isTransaction, t.commits()]),
    t.committer.run(() => "returned"),
  ]);
  assertEquals(one, [1, false, 1]);
  assertEquals(two, "returned");
});

Deno.test("One that fails takes only itself down", async () => {
  using t = open();
  const results = await Promise.allSettled([t.add("a"), t.add(null), t.add("b"), t.add("c")]);
  assertEquals(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  assertEquals(t.count(), 3);
  assertEquals(t.database.isTransaction, false);
});

Deno.test("No room: the error says so, nothing is stored, and with room it goes on", async () => {
  using t = open();
  t.database.exec("PRAGMA max_page_count = 10");
  const error = await assertRejects(() => t.add("x".repeat(100_000)), StoreError, "No room");
  assertEquals([error.code, error.transient, t.count()], ["full", true, 0]);
  t.database.exec("PRAGMA max_page_count = 1000");
  await t.add("x".repeat(100_000));
  assertEquals(t.count(), 1);
});

Deno.test("A transaction of deferrable operations isn't synced; one with any other is", async () => {
  using t = open();
  const synchronous = () => Number(t.database.prepare("PRAGMA synchronous").get()!.synchronous);
  const run = (deferrable: boolean) => t.committer.run(synchronous, { deferrable });
  const fail = () =>
    t.committer.run(() => {
      throw new Error(`${synchronous()}`);
    }, { deferrable: true });
  const [NORMAL, FULL] = [1, 2];
  assertEquals(await Promise.all([run(true), run(true)]), [NORMAL, NORMAL]);
  assertEquals(synchronous(), FULL);
  assertEquals(await Promise.all([run(true), run(false)]), [FULL, FULL]);
  await assertRejects(fail, Error, `${NORMAL}`);
  assertEquals([synchronous(), t.database.isTransaction], [FULL, false]);
});

Deno.test("A lock that is not had in time fails all who wait, together, and the log was told", async () => {
  const path = await Deno.makeTempFile({ suffix: ".db" });
  using other = new DatabaseSync(path);
  using database = new DatabaseSync(path, { timeout: 0 });
  other.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
  const clock = new HastyClock();
  const told: string[] = [];
  const log = (level: string, message: string) => void told.push(`${level}: ${message}`);
  const patience = new BusyRetry({ path, clock, waitMs: 5_000, log });
  const committer = new GroupCommit(database, { path, clock, patience, onCommit() {} });

  const results = await Promise.allSettled(Array.from({ length: 10 }, () => committer.run(() => 1)));
  assert(results.every((result) => result.status === "rejected" && result.reason.code === "locked"));
  assert(clock.monotonic() >= 5_000 && clock.monotonic() < 6_000, `${clock.monotonic()}`);
  assertEquals(told, [`warn: Store "${path}" is held locked by another program, waiting`]);

  const late = committer.run(() => 2);
  clock.onSleep = () => {
    if (clock.monotonic() > 8_000 && other.isTransaction) other.exec("ROLLBACK");
  };
  assertEquals(await late, 2);
  assertEquals(told.at(-1), `info: Store "${path}" is no longer locked`);
  await Deno.remove(path);
});

Deno.test("What is no lock is not waited for", async () => {
  using database = new DatabaseSync(":memory:");
  const clock = new HastyClock();
  const patience = new BusyRetry({ path: "words.db", clock, waitMs: 5_000 });
  const committer = new GroupCommit(database, { path: "words.db", clock, patience, onCommit() {} });
  database.exec("BEGIN");
  await assertRejects(() => committer.run(() => 1), Error, "within a transaction");
  assertEquals(clock.monotonic(), 0);
});

/** Time passes on it only when somebody sleeps, and then at once. */
class HastyClock implements Clock {
  #time = 0;
  onSleep = () => {};

  now(): number {
    return this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  sleep(ms: number): Promise<void> {
    this.#time += ms;
    this.onSleep();
    return systemClock.turn();
  }

  turn(): Promise<void> {
    return systemClock.turn();
  }
}

Deno.test("Nothing is under way once it is idle", async () => {
  using t = open();
  let done = 0;
  for (let i = 0; i < 5; i++) void t.add(`${i}`, 1_000).then(() => done++);
  await t.committer.end();
  assert(t.count() === 5);
  await systemClock.turn();
  assertEquals(done, 5);
});
