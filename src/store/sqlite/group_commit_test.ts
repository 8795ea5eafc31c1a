import { assert, assertEquals, assertRejects } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { type Clock, systemClock } from "../../clock.ts";
import { StoreError } from "../port/errors.ts";
import { GroupCommit } from "./group_commit.ts";
import { BusyRetry } from "./busy_retry.ts";

/** Opens a committer on a table of texts. */
function open() {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE word (text TEXT NOT NULL)");
  const insert = database.prepare("INSERT INTO word VALUES (?)");
  let commits = 0;
  const synced: boolean[] = [];
  const committer = new GroupCommit(database, {
    path: "words.db",
    clock: systemClock,
    busyRetry: new BusyRetry({ path: "words.db", clock: systemClock, waitMs: 0 }),
    onCommit: (wasSynced) => {
      commits++;
      synced.push(wasSynced);
    },
  });
  return {
    database,
    committer,
    add: (text: string | null, rows = 1) => committer.run(() => insert.run(text).changes, { rows }),
    count: () => database.prepare("SELECT count(*) AS n FROM word").get()!.n,
    commits: () => commits,
    synced,
    [Symbol.dispose]: () => database.close(),
  };
}

Deno.test("operations of the same moment share a transaction", async () => {
  using t = open();
  await Promise.all(Array.from({ length: 500 }, (_, i) => t.add(`${i}`)));
  assertEquals([t.count(), t.commits()], [500, 1]);
});

Deno.test("a large transaction accepts no more operations", async () => {
  using t = open();
  await Promise.all(Array.from({ length: 4 }, (_, i) => t.add(`${i}`, 600)));
  assertEquals([t.count(), t.commits()], [4, 2]);
});

Deno.test("the event loop turns while a caller repeats operations", async () => {
  using t = open();
  let hasTurned = false;
  const timer = setTimeout(() => hasTurned = true, 0);
  for (let i = 0; i < 10_000 && !hasTurned; i++) await t.add("again");
  clearTimeout(timer);
  assert(hasTurned);
});

Deno.test("run resolves after the commit, with the operation's return value", async () => {
  using t = open();
  const [one, two] = await Promise.all([
    t.add("a").then((changes) => [changes, t.database.isTransaction, t.commits()]),
    t.committer.run(() => "returned"),
  ]);
  assertEquals(one, [1, false, 1]);
  assertEquals(two, "returned");
});

Deno.test("an operation that fails doesn't affect those of its transaction", async () => {
  using t = open();
  const results = await Promise.allSettled([t.add("a"), t.add(null), t.add("b"), t.add("c")]);
  assertEquals(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  assertEquals(t.count(), 3);
  assertEquals(t.database.isTransaction, false);
});

Deno.test("a full disk rejects operations as full, and later ones succeed", async () => {
  using t = open();
  t.database.exec("PRAGMA max_page_count = 10");
  const error = await assertRejects(() => t.add("x".repeat(100_000)), StoreError, "No space");
  assertEquals([error.code, error.transient, t.count()], ["full", true, 0]);
  t.database.exec("PRAGMA max_page_count = 1000");
  await t.add("x".repeat(100_000));
  assertEquals(t.count(), 1);
});

Deno.test("a transaction of deferrable operations isn't synced, one with any other is", async () => {
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
  assertEquals(t.synced, [false, true]);
});

Deno.test("a lock that isn't released in time rejects all waiting operations together, and is logged", async () => {
  const folder = await Deno.makeTempDir({ prefix: "jobs-test-" });
  using cleanup = new DisposableStack();
  cleanup.defer(() => Deno.removeSync(folder, { recursive: true }));
  const path = `${folder}/words.db`;
  using other = new DatabaseSync(path);
  using database = new DatabaseSync(path, { timeout: 0 });
  other.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
  const clock = new HastyClock();
  const told: string[] = [];
  const log = (level: string, message: string) => void told.push(`${level}: ${message}`);
  const busyRetry = new BusyRetry({ path, clock, waitMs: 5_000, log });
  const committer = new GroupCommit(database, { path, clock, busyRetry, onCommit() {} });

  const results = await Promise.allSettled(Array.from({ length: 10 }, () => committer.run(() => 1)));
  assert(results.every((result) => result.status === "rejected" && result.reason.code === "locked"));
  assert(clock.monotonic() >= 5_000 && clock.monotonic() < 6_000, `${clock.monotonic()}`);
  assertEquals(told, [`warn: Store "${path}" is locked by another program, waiting`]);

  const late = committer.run(() => 2);
  clock.onSleep = () => {
    if (clock.monotonic() > 8_000 && other.isTransaction) other.exec("ROLLBACK");
  };
  assertEquals(await late, 2);
  assertEquals(told.at(-1), `info: Store "${path}" is no longer locked`);
});

Deno.test("an error other than a lock is thrown at once", async () => {
  using database = new DatabaseSync(":memory:");
  const clock = new HastyClock();
  const busyRetry = new BusyRetry({ path: "words.db", clock, waitMs: 5_000 });
  const committer = new GroupCommit(database, { path: "words.db", clock, busyRetry, onCommit() {} });
  database.exec("BEGIN");
  await assertRejects(() => committer.run(() => 1), Error, "within a transaction");
  assertEquals(clock.monotonic(), 0);
});

/** Its time passes only by sleeps, and at once. */
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

Deno.test("end resolves when all operations have ended", async () => {
  using t = open();
  let done = 0;
  for (let i = 0; i < 5; i++) void t.add(`${i}`, 1_000).then(() => done++);
  await t.committer.end();
  assert(t.count() === 5);
  await systemClock.turn();
  assertEquals(done, 5);
});
