/**
 * The file of a SQLite store: its permissions, files that aren't stores, and the errors of a file that can't be used.
 *
 * @module
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../src/clock.ts";
import type { DayCount } from "../src/store/port/history.ts";
import { StoreError, type StoreErrorCode } from "../src/store/port/errors.ts";
import { openSqlite } from "../src/store/sqlite/open.ts";
import { HOUR_MS, jid, job, jobs, numbersIn, register, takeUpTo } from "./store_contract/jobs.ts";
import { FakeClock } from "./support/clock.ts";
import { ShiftedClock, sqliteFolder } from "./support/stores.ts";

Deno.test("sqlite: only the user can read the folder, the file, its log and its index", async () => {
  await using folder = await sqliteFolder();
  const dir = join(folder.dir, "a", "b");
  const store = await openSqlite(`sqlite:${dir}/jobs.db`, {});
  try {
    await store.jobs.enqueue([job(1)]);
    const mode = (path: string) => (Deno.statSync(path).mode! & 0o777).toString(8);
    assertEquals([mode(join(folder.dir, "a")), mode(dir)], ["700", "700"]);
    for (const name of ["jobs.db", "jobs.db-wal", "jobs.db-shm"]) assertEquals(mode(join(dir, name)), "600", name);
  } finally {
    await store[Symbol.asyncDispose]();
  }
});

Deno.test("sqlite: health reports a file that its group or all users may read, with the cure", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  for (const [mode, isReported] of [[0o600, false], [0o640, true], [0o604, true], [0o622, false]] as const) {
    await Deno.chmod(folder.file, mode);
    const cures = (await store.admin.health()).findings.map(({ cure }) => cure);
    assertEquals(cures, isReported ? [`chmod 600 "${folder.file}"`] : [], mode.toString(8));
  }
});

Deno.test("sqlite: refuses a file that isn't a database, and doesn't change it", async () => {
  for (
    const text of ["x", "This is a letter, and no database.\n".repeat(200), `SQLite format 3\0${"x".repeat(5_000)}`]
  ) {
    await using folder = await sqliteFolder();
    await Deno.writeTextFile(folder.file, text);
    await refused(() => folder.open(), "wrong", `"${folder.file}" is not an SQLite database`);
    assertEquals(await Deno.readTextFile(folder.file), text);
  }
});

Deno.test("sqlite: refuses the database of another program, and doesn't change it", async () => {
  await using folder = await sqliteFolder();
  const other = new DatabaseSync(folder.file);
  other.exec("CREATE TABLE bookmark (url TEXT); INSERT INTO bookmark VALUES ('https://example.org/')");
  other.close();
  const before = await Deno.readFile(folder.file);
  await refused(() => folder.open(), "wrong", "is the database of another program");
  assertEquals(await Deno.readFile(folder.file), before);
});

Deno.test("sqlite: refuses the store of a newer or an unreleased version, and doesn't change it", async () => {
  await using folder = await sqliteFolder();
  await (await folder.open())[Symbol.asyncDispose]();
  for (
    const [pragmas, code, words] of [
      [
        "user_version = 99",
        "newer",
        "made by a newer version of jobs (schema 99, this version supports 1); use that version",
      ],
      [
        `application_id = ${0x4a4f4253}; PRAGMA user_version = 34`,
        "wrong",
        "made by an unreleased version of jobs (schema 34); use a new",
      ],
      ["user_version = 1", "wrong", "made by an unreleased version of jobs (schema 1)"],
    ] as const
  ) {
    tamper(folder.file, `PRAGMA ${pragmas}`);
    const before = await Deno.readFile(folder.file);
    await refused(() => folder.open(), code, words);
    assertEquals(await Deno.readFile(folder.file), before);
  }
});

Deno.test("sqlite: lists the members of a batch by its name in their payloads", async () => {
  await using folder = await sqliteFolder();
  const deep = `${"[".repeat(1_500)}${"]".repeat(1_500)}`;
  const payloads = [
    `{"jid":"a","batch":"b1","batch_counted":"pending"}`,
    `{"jid":"b","batch":"b0","batch" : "b1","batch_counted":"dead"}`,
    `{"jid":"c","args":[{"batch":"b1"}]}`,
    `{"jid":"d","batch":{"id":"b1"}}`,
    `{"jid":"e","batch":""}`,
    `{"jid":"f","batch":"b1"`,
    `["batch","b1"]`,
    `"batch"`,
  ];
  const store = await folder.open();
  await store.jobs.enqueue(payloads.map((payload, i) => ({ jid: "abcdefgh"[i]!, queue: "q", payload })));
  const members = async () =>
    (await store.admin.members!("b1", {})).entries.map(({ payload }) => payload.split(`"`)[3]);
  assertEquals(await members(), ["a", "b"]);
  // SQLite can't read it, but it is counted.
  const nested = `{"jid":"i","args":${deep},"batch":"b1","batch_counted":"pending"}`;
  await store.jobs.enqueue([{ jid: "i", queue: "q", payload: nested }]);
  assertEquals(await members(), ["a", "b", "i"]);
  await store.batches.create({ id: "b1", callbacks: {}, closeWithinMs: 1e9, keepMs: 1e9 });
  const counted = await store.batches.count("b1");
  assert(typeof counted === "object");
  assertEquals([counted.pending, counted.dead], [2, 1]);
});

Deno.test("sqlite: reports a damaged file when it is opened or read", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  await store.jobs.enqueue(jobs(1, 500));
  await store[Symbol.asyncDispose]();
  const file = await Deno.open(folder.file, { write: true });
  const { size } = await file.stat();
  await file.seek(4096, Deno.SeekMode.Start);
  await file.write(new Uint8Array(size - 4096).fill(0x5a));
  file.close();
  const error = await refused(
    async () => {
      const damaged = await folder.open();
      await damaged.jobs.enqueue(jobs(501, 1_500));
      await damaged.admin.stats();
    },
    "corrupt",
    folder.file,
  );
  assertEquals(error.transient, false);
});

Deno.test("sqlite: reports a failure of the disk while it reads", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  await store.admin.stats();
  const other = await folder.open();
  await other.jobs.enqueue(jobs(1, 100));
  // Reading the log fails now.
  await Deno.truncate(`${folder.file}-wal`);
  for (const read of [() => store.admin.stats(), () => store.events.read(0, 5), () => store.batches.count("a")]) {
    const error = await refused(read, "unavailable", "disk I/O error");
    assertEquals(error.transient, true);
  }
});

Deno.test("sqlite: an error for a place that can't be written names the place and the remedy", async () => {
  await using folder = await sqliteFolder();
  await Deno.writeTextFile(join(folder.dir, "file"), "");
  for (const path of [join(folder.dir, "file", "jobs.db"), "/proc/jobs/jobs.db"]) {
    const error = await refused(() => openSqlite(`sqlite:${path}`, {}), "denied", path);
    assertStringIncludes(error.message, "permission");
  }
  await refused(() => openSqlite(`sqlite:${folder.dir}`, {}), "wrong", "is a folder");
  using _socket = Deno.listen({ transport: "unix", path: join(folder.dir, "socket") });
  await refused(() => openSqlite(`sqlite:${folder.dir}/socket`, {}), "denied", "give this user read and write");
});

Deno.test("sqlite: waits for a lock of another program without blocking the event loop", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  using other = new DatabaseSync(folder.file);
  other.exec("BEGIN IMMEDIATE");
  let waits = true;
  const push = store.jobs.enqueue([job(1)]).finally(() => waits = false);
  // The lock is released from this event loop, after more than one attempt: so the attempts don't block it.
  for (let turns = 0; turns < 100; turns++) await systemClock.turn();
  assertEquals(waits, true);
  other.exec("ROLLBACK");
  assertEquals(await push, [{ kind: "stored" }]);
});

Deno.test("sqlite: a lock that stays rejects all waiting operations together, and later ones succeed", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open({ waitMs: 30 });
  using other = new DatabaseSync(folder.file);
  other.exec("BEGIN EXCLUSIVE");
  const pushes = jobs(1, 20).map((one) =>
    refused(() => store.jobs.enqueue([one]), "locked", "is locked by another program")
  );
  for (const error of await Promise.all(pushes)) assert(error.transient);
  other.exec("ROLLBACK");
  await store.jobs.enqueue([job(21)]);
  assertEquals(await numbersIn(store, { in: "queue", queue: "default" }), [21]);
});

Deno.test("sqlite: a step that a lock rejected is written when its worker repeats it", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open({ waitMs: 30 });
  const worker = await register(store);
  await store.jobs.enqueue([job(1)]);
  const [lease] = await takeUpTo(store, worker);
  const record = `{"state":"succeeded","since":1,"ended":2,"kind":"step","attempts":1}`;
  const remember = () => store.steps.remember({ worker, token: lease!.token, jid: jid(1) }, { name: "charge", record });
  using other = new DatabaseSync(folder.file);
  other.exec("BEGIN IMMEDIATE");
  await refused(remember, "locked", "is locked by another program");
  other.exec("ROLLBACK");
  assertEquals(await remember(), record);
});

Deno.test("sqlite: a wait ends when the file was deleted, and the next verb reports that", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  const waiting = Promise.all([
    store.watch({ result: "a" }, AbortSignal.timeout(60_000)),
    store.watch({ events: 0 }, AbortSignal.timeout(60_000)),
  ]);
  await Deno.remove(folder.file);
  assertEquals(await waiting, [true, true]);
  const error = await assertRejects(() => store.results.read({ jids: ["a"] }), StoreError);
  assertEquals(error.code, "gone");
});

Deno.test("sqlite: verbs of a closed store fail", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  await store[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  await refused(() => store.jobs.enqueue([job(1)]), "unavailable", "has been closed");
  await refused(() => store.admin.stats(), "unavailable", "has been closed");
});

Deno.test("sqlite: each store in memory is separate", async () => {
  await using first = await openSqlite("sqlite::memory:", {});
  await using second = await openSqlite("sqlite::memory:", {});
  await first.jobs.enqueue([job(1)]);
  assertEquals([(await first.admin.stats()).enqueued, (await second.admin.stats()).enqueued], [1, 0]);
});

Deno.test("sqlite: durability is set by an option or by the address", async () => {
  const cases = [
    [{}, "full"],
    [{ durability: "normal" }, "normal"],
    [{ parameters: "?durability=normal" }, "normal"],
    [{ durability: "normal", parameters: "?durability=full" }, "full"],
  ] as const;
  for (const [open, expected] of cases) {
    await using folder = await sqliteFolder();
    const store = await folder.open(open);
    assertEquals((await store.admin.health()).durability, expected, JSON.stringify(open));
  }
});

Deno.test("sqlite: metrics are deleted after their retention", async () => {
  await using folder = await sqliteFolder();
  const clock = new ShiftedClock();
  const store = await folder.open({ clock });
  const one = { class: "Hard", processed: 1, failed: 0, workedMs: 1, histogram: new Array(26).fill(0) };
  const rows = () => {
    using database = new DatabaseSync(folder.file);
    return Number(database.prepare("SELECT count(*) AS n FROM measure").get()!.n);
  };
  await store.series.add("classes", [one]);
  assertEquals(rows(), 2);
  clock.advance(9 * HOUR_MS);
  await store.series.add("classes", [one]);
  assertEquals(rows(), 3, "the first minute is deleted, its ten minutes aren't");
  clock.advance(73 * HOUR_MS);
  await store.series.add("classes", [one]);
  assertEquals(rows(), 2);
});

async function refused(act: () => Promise<unknown>, code: StoreErrorCode, words: string): Promise<StoreError> {
  const error = await assertRejects(act, StoreError, words);
  assertEquals(error.code, code, error.message);
  return error;
}

function tamper(file: string, sql: string): void {
  using database = new DatabaseSync(file);
  database.exec(sql);
}

Deno.test("sqlite: a day's totals are deleted after five years, and the overall totals stay", async () => {
  const clock = new FakeClock();
  await using folder = await sqliteFolder();
  const store = await folder.open({ clock });
  const first = clock.now();
  const year = 365 * 24 * HOUR_MS;
  for (const years of [0, 4.9, 5.1]) {
    clock.set(first + years * year);
    const worker = await register(store);
    await store.jobs.enqueue([job(1)]);
    const [lease] = await takeUpTo(store, worker);
    await store.jobs.settle(worker, [{ kind: "discard", token: lease!.token }]);
    const [{ processed, failed }] = await store.series.read("days", { from: first, to: first }) as [DayCount];
    assertEquals([processed, failed], years > 5 ? [0, 0] : [1, 1]);
  }
  assertEquals((await store.admin.stats()).processed, 3);
});
