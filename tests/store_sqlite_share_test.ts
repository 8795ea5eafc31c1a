/**
 * Several processes and connections on one SQLite file: opening it together, and the waits that end.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { HOUR_MS, job, jobs, lapse, LAPSE_MS, register, rescueFor, takeUpTo, woken } from "./store_contract/jobs.ts";
import { Child } from "./support/child.ts";
import { checkPlaces, ShiftedClock, sqliteFolder } from "./support/stores.ts";

Deno.test("sqlite: processes that open a new file at the same moment can all store jobs", async () => {
  await using folder = await sqliteFolder();
  const url = `sqlite:${folder.file}`;
  const children = Array.from({ length: 6 }, (_, i) => new Child("sqlite_child.ts", ["some", url, `${i + 1}`]));
  assertEquals(await Promise.all(children.map((child) => child.ended())), children.map(() => true));
  const store = await folder.open();
  assertEquals((await store.admin.stats()).enqueued, 6 * 25);
  checkPlaces(folder.file);
});

Deno.test("sqlite: connections that open a new file at the same moment all succeed", async () => {
  await using folder = await sqliteFolder();
  const stores = await Promise.all(Array.from({ length: 12 }, () => folder.open()));
  await Promise.all(stores.map((store, i) => store.jobs.enqueue(jobs(10 * i, 10 * i + 9))));
  assertEquals((await stores[0]!.admin.stats()).enqueued, 120);
});

Deno.test("sqlite: a rescue that waited for the lock decides under the lock", async () => {
  await using folder = await sqliteFolder();
  const clock = new ShiftedClock();
  const store = await folder.open({ clock });
  const worker = await register(store);
  await store.jobs.enqueue([job(1)]);
  await takeUpTo(store, worker);
  await lapse({ store, advance: (ms) => clock.advance(ms) });
  using other = new DatabaseSync(folder.file);
  other.exec("BEGIN IMMEDIATE");
  const rescuing = rescueFor(store);
  for (let turns = 0; turns < 10; turns++) await clock.turn();
  // Longer than the heartbeat timeout of every worker.
  clock.advance(LAPSE_MS);
  other.exec("ROLLBACK");
  assertEquals(await rescuing, { rescued: 0, doomed: [], offline: [], more: false, waits: true });
  await lapse({ store, advance: (ms) => clock.advance(ms) });
  assertEquals((await rescueFor(store)).rescued, 1);
});

Deno.test("sqlite: a change that doesn't concern a waiter doesn't wake it", async () => {
  await using folder = await sqliteFolder();
  const [store, other] = [await folder.open(), await folder.open()];
  await other.admin.configure("paused", { pause: true });
  const stop = new AbortController();
  const woke: string[] = [];
  const waits = [
    store.watch({ work: ["mail"] }, stop.signal).then(() => woke.push("mail")),
    store.watch({ work: ["paused"] }, stop.signal).then(() => woke.push("paused")),
    store.watch("due", stop.signal).then(() => woke.push("due")),
    store.watch("cron", stop.signal).then(() => woke.push("cron")),
  ];
  await register(other, "host:1:aaaaaaaaaaaa");
  await other.jobs.enqueue([job(1, { queue: "paused" })]);
  // A waiter that sees this push has seen all earlier changes.
  await woken((signal) => store.watch({ work: ["default"] }, signal), () => other.jobs.enqueue([job(2)]));
  assertEquals(woke.filter((name) => name !== "cron"), []);
  stop.abort();
  await Promise.all(waits);
});

Deno.test("sqlite: a watch of due jobs resolves on an earlier job, not on a later one", async () => {
  await using folder = await sqliteFolder();
  const [store, other] = [await folder.open(), await folder.open()];
  await other.jobs.enqueue([job(1, { delayMs: 2 * HOUR_MS })]);
  await store.jobs.promote(1);
  let isWoken = false;
  const due = store.watch("due", new AbortController().signal).then(() => isWoken = true);
  await other.jobs.enqueue([job(2, { delayMs: 3 * HOUR_MS })]);
  await woken((signal) => store.watch({ work: ["default"] }, signal), () => other.jobs.enqueue([job(3)]));
  assertEquals(isWoken, false);
  await other.jobs.enqueue([job(4, { delayMs: HOUR_MS })]);
  await due;
});
