/** Large jobs on SQLite: how much one transaction moves. */
import { assertEquals } from "@std/assert";
import { MAX_BATCH_BYTES } from "../src/store/port/batch_bytes.ts";
import type { NewJob } from "../src/store/port/jobs.ts";
import { HOUR_MS, jid } from "./store_contract/jobs.ts";
import { openSqliteTestStore } from "./support/stores.ts";

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
