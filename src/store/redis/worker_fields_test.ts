import { assertEquals } from "@std/assert";
import { readWorker } from "./worker_fields.ts";

/** Returns the totals of a worker as they are read. */
function totals(stored: unknown): unknown {
  const none = { concurrency: null, busy: null, beat: null, quiet: null, rss: null, work: {} };
  return readWorker("host:1:a", { info: JSON.stringify({ totals: stored }), ...none }, true).totals;
}

Deno.test("readWorker reads totals of any shape as numbers", () => {
  const stored = { succeeded: 3, failed: 1, cancelled: 0, expired: 0, workedMs: 12.5 };
  const nothing = { succeeded: 0, failed: 0, cancelled: 0, expired: 0, workedMs: 0 };
  assertEquals(totals({ A: stored }), { A: stored });
  assertEquals(totals({ A: null, B: 7, C: "x", D: { succeeded: "many", failed: null, workedMs: {} } }), { D: nothing });
  assertEquals(totals([]), {});
  for (const none of [null, undefined, 7, "x"]) assertEquals(totals(none), undefined);
});

Deno.test("readWorker takes the heartbeat of a worker whose key has expired for its start, too", () => {
  const none = { info: null, concurrency: null, busy: null, quiet: null, rss: null, work: {} };
  const { startedAt, heartbeatAt, hostname } = readWorker("host:1:a", { ...none, beat: "1700000000.5" }, false);
  assertEquals([startedAt, heartbeatAt, hostname], [1_700_000_000_500, 1_700_000_000_500, "host"]);
});
