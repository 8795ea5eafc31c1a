import { assertEquals } from "@std/assert";
import { columnsOf } from "./columns.ts";
import { GAP, layColumns, sharePanes } from "./layout.ts";
import { PANES } from "./rows.ts";

Deno.test("columns fill the whole width; the least important are left out first", () => {
  for (const list of [...PANES, "entries"] as const) {
    for (const width of [58, 78, 98, 158, 298]) {
      const laid = layColumns(columnsOf(list), width);
      assertEquals(laid.reduce((sum, { width }) => sum + width + GAP, -GAP), width, `${list} in ${width}`);
    }
    assertEquals(layColumns(columnsOf(list), 10).every(({ column }) => column.dropOrder === 0), true);
  }
  const headings = layColumns(columnsOf("running"), 58).map(({ column }) => column.heading);
  assertEquals(headings, ["job", "elapsed", "progress"]);
});

Deno.test("panes share the height: the active one first, none more than it needs, no line unused", () => {
  const requests = (...lines: number[]) => lines.map((lines, i) => ({ lines, active: i === 1 }));
  assertEquals(sharePanes(requests(2, 3, 2, 4), 30), [2, 3, 2, 4]);
  assertEquals(sharePanes(requests(50, 50, 2, 4), 30), [10, 14, 2, 4]);
  assertEquals(sharePanes(requests(50, 50, 50, 4), 11), [2, 6, 2, 1]);
  assertEquals(sharePanes(requests(50, 50, 50, 4), 5), [1, 2, 1, 1]);
  assertEquals(sharePanes(requests(50, 50, 50, 4), 4), [0, 4, 0, 0]);
  assertEquals(sharePanes(requests(50, 50, 50, 4), -1), [0, 0, 0, 0]);
});
