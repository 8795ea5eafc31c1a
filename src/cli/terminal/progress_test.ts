import { assert, assertEquals } from "@std/assert";
import { progressLine } from "./progress.ts";
import { textWidth } from "./text_width.ts";

Deno.test("a known total gives a bar, a rate and the remaining time", () => {
  assertEquals(
    progressLine({ what: "Deleting", done: 25_000, total: 100_000, elapsedMs: 5_000 }, 100),
    "Deleting ███████░░░░░░░░░░░░░░░░░░░░░░░ 25 %  25,000 of 100,000  5,000/s  15s left",
  );
  assertEquals(
    progressLine({ what: "Deleting", done: 9, total: 9, elapsedMs: 1_000 }, 100),
    `Deleting ${"█".repeat(30)} 100 %  9 of 9  9/s`,
  );
});

Deno.test("a known share gives a bar; without one, the count is shown", () => {
  const state = { what: "Pushing", done: 500, total: undefined, elapsedMs: 1_000 };
  assertEquals(progressLine(state, 100), "Pushing  500  500/s");
  assertEquals(progressLine({ ...state, share: 0.1 }, 100), `Pushing ███${"░".repeat(27)} 10 %  500  500/s  9s left`);
});

Deno.test("the line never wraps", () => {
  for (const columns of [10, 40, 60, 80]) {
    const line = progressLine({ what: "Deleting", done: 1, total: 10_000_000, elapsedMs: 60_000 }, columns);
    assert(textWidth(line) < columns, line);
  }
});
