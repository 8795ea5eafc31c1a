/**
 * Keeps records of ended jobs without running a job.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { ServerStore } from "../../src/store/port/store.ts";
import type { NewRecord } from "../../src/store/port/results.ts";

/** Keeps a record: that of a scheduled job, which is cancelled. Other jobs with its jid stay. */
export async function keepRecord({ jobs }: Pick<ServerStore, "jobs">, record: NewRecord): Promise<void> {
  const { jid } = record;
  const payload = JSON.stringify({ class: "Ended", args: [crypto.randomUUID()], jid, queue: "default" });
  await jobs.enqueue([{ jid, queue: "default", payload, delayMs: 3_600_000 }]);
  const mine = (await jobs.find([jid])).filter((entry) => entry.payload.startsWith(payload.slice(0, -1)));
  assertEquals(await jobs.edit(mine.map(({ ref }) => ref), { cancel: record }), 1);
}
