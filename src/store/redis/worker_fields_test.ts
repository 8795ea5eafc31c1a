import { assertEquals } from "@std/assert";
import { readProcess } from "./worker_fields.ts";

/** What a process tells of its totals, as it is read. */
function totals(told: unknown): unknown {
  const none = { concurrency: null, busy: null, beat: null, quiet: null, rss: null, work: {} };
  return readProcess("host:1:a", { info: JSON.stringify({ totals: told }), ...none }, true).totals;
}

Deno.test("what others tell as the totals of a process is read as numbers, whatever it is", () => {
  const told = { done: 3, failed: 1, cancelled: 0, expired: 0, workedMs: 12.5 };
  const nothing = { done: 0, failed: 0, cancelled: 0, expired: 0, workedMs: 0 };
  assertEquals(totals({ A: told }), { A: told });
  assertEquals(totals({ A: null, B: 7, C: "x", D: { done: "many", failed: null, workedMs: {} } }), { D: nothing });
  assertEquals(totals([]), {});
  for (const none of [null, undefined, 7, "x"]) assertEquals(totals(none), undefined);
});
