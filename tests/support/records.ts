/**
 * Keeps records of ended jobs without running a job.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { ServerStore } from "../../src/store/port/store.ts";
import type { NewRecord } from "../../src/store/port/results.ts";

/** Keeps a record: that of a scheduled job with another jid, which is cancelled. */
export async function keepRecord({ jobs }: Pick<ServerStore, "jobs">, record: NewRecord): Promise<void> {
  const jid = crypto.randomUUID();
  const payload = JSON.stringify({ class: "Ended", args: [], jid, queue: "default" });
  await jobs.enqueue([{ jid, queue: "default", payload, delayMs: 3_600_000 }]);
  const refs = (await jobs.find([jid])).map(({ ref }) => ref);
  assertEquals(await jobs.edit(refs, { cancel: record }), 1);
}
