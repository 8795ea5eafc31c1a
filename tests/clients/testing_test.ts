/** The clients' helpers for tests of handlers: the same in each language, without a server. */
import { assert, assertEquals, assertObjectMatch } from "@std/assert";
import { requireTool } from "../support/tools.ts";

const EXPECTED = {
  report: {
    state: "succeeded",
    result: { month: "2026-01", attempt: 3 },
    log: ["report of 2026-01"],
    progress: { done: 50, note: "half" },
  },
  pushed: [["Mail", ["2026-01"], "mail"]],
  drained: [["mail to 2026-01"]],
  discard: ["discarded", "not needed", null, null],
  kill: ["dead", "no", null, null],
  snooze: ["snoozed", null, null, "5m"],
  order: { card: { attempt: 1 }, answer: { by: "ann" }, child: "2026-02", count: 3 },
  batches: [
    [
      ...["complete", "success", "failed succeeded failed succeeded succeeded succeeded succeeded"],
      ...["death", "complete", "failed failed failed failed dead succeeded succeeded succeeded"],
      "abandoned",
    ],
    [["ended", 3, 0], ["ended", 2, 1], ["abandoned", 0, 0]],
    1,
  ],
  cancel: [true, false, 0],
  missing: true,
};

for (const [runtime, file] of [["node", "testing.mjs"], ["python3", "testing.py"]] as const) {
  Deno.test(`handlers are performed in memory by ${file}`, async () => {
    requireTool(runtime);
    const args = [new URL(file, import.meta.url).pathname];
    const { success, stdout, stderr } = await new Deno.Command(runtime, {
      args,
      signal: AbortSignal.timeout(60_000),
    }).output();
    const decoder = new TextDecoder();
    assert(success, decoder.decode(stderr));
    const found = JSON.parse(decoder.decode(stdout));
    assertObjectMatch(found, EXPECTED);
    assertEquals(found.fail.slice(0, 2), ["failed", "outer"]);
    assert(/^caused by \w*Error: inner$/.test(found.fail[2]?.[0]), JSON.stringify(found.fail));
  });
}
