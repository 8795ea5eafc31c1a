/** Large and scattered jobs on SQLite: how much one transaction moves. */
import { DatabaseSync } from "node:sqlite";
import { assertEquals } from "@std/assert";
import { MAX_BATCH_BYTES } from "../src/store/port/batch_bytes.ts";
import type { NewJob } from "../src/store/port/jobs.ts";
import { HOUR_MS, jid, job } from "./store_contract/jobs.ts";
import { openSqliteTestStore, sqliteFolder } from "./support/stores.ts";

/** Returns the n-th job, whose payload has exactly this many bytes. */
function jobOf(n: number, bytes: number): NewJob {
  const start = `{"class":"HardJob","queue":"default","jid":"${jid(n)}","args":["`;
  return {
    jid: jid(n),
    queue: "default",
    payload: `${start}${"x".repeat(bytes - start.length - 3)}"]}`,
    delayMs: HOUR_MS,
  };
}

Deno.test("sqlite: a transaction promotes at most 4 MiB, or one larger job", async () => {
  await using t = await openSqliteTestStore();
  const quarter = MAX_BATCH_BYTES / 4;
  const sizes = [quarter, quarter, quarter, quarter, quarter + 1, quarter, quarter, quarter, 5 * quarter];
  await t.store.jobs.enqueue(sizes.map((bytes, n) => ({ ...jobOf(n + 1, bytes), delayMs: HOUR_MS + n })));
  t.advance(2 * HOUR_MS);
  const moved: number[] = [];
  for (let nextInMs: number | undefined = 0; nextInMs === 0;) {
    const step = await t.store.jobs.promote(100);
    moved.push(step.moved);
    nextInMs = step.nextInMs;
  }
  assertEquals(moved, [4, 3, 1, 1]);
});

Deno.test("sqlite: rows of ended jobs that lie apart are removed later, in the order of their numbers", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  const queues = Array.from({ length: 20 }, (_, i) => `q${i}`);
  await store.jobs.enqueue(Array.from({ length: 1_000 }, (_, n) => job(n + 1, { queue: queues[n % 20]! })));
  using database = new DatabaseSync(folder.file);
  const rows = () => Number(database.prepare("SELECT count(*) AS count FROM job").get()!["count"]);
  const worker = "host:1:aaaaaaaaaaaa";
  for (const queue of queues.slice(0, 10)) {
    const leases = await store.jobs.take({ queues: [queue], limit: 100, worker });
    await store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack", token })));
  }
  assertEquals(rows(), 1_000);
  assertEquals((await store.jobs.find([jid(1)])).length, 0, "an ended job is in no place");
  const found = await store.jobs.find({ text: "HardJob", limit: 600 });
  assertEquals(found.length, 500, "a search doesn't count ended jobs");
  await store.jobs.rescue({ worker, limit: 10, maxRescues: 3 });
  assertEquals(rows(), 500);
});

Deno.test("sqlite: rows of large jobs are removed at their end, wherever they lie", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  const large = (n: number) => ({ ...jobOf(n + 1, n % 2 === 0 ? 2_049 : 1_900), queue: `q${n % 20}`, delayMs: 0 });
  await store.jobs.enqueue(Array.from({ length: 1_000 }, (_, n) => large(n)));
  using database = new DatabaseSync(folder.file);
  const rows = () => Number(database.prepare("SELECT count(*) AS count FROM job").get()!["count"]);
  const worker = "host:1:aaaaaaaaaaaa";
  for (const [queue, left] of [["q0", 950], ["q1", 950]] as const) {
    const leases = await store.jobs.take({ queues: [queue], limit: 100, worker });
    await store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack", token })));
    assertEquals(rows(), left);
  }
});
