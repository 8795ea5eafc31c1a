import { assert, assertEquals } from "@std/assert";
import { type Column, tableLines } from "./table.ts";
import { cutText, textWidth } from "./text_width.ts";

const JID = "1a1fd5150c39f4ae2f200001";
const COLUMNS: readonly Column[] = [
  { heading: "jid", is: "whole" },
  { heading: "died", is: "whole" },
  { heading: "queue", is: "optional" },
  "job",
  { heading: "state", isState: true },
  "error",
];
const ROWS = [
  [
    JID,
    "8s ago",
    "default",
    'Doomed("日本語テキスト日本語テキスト", 5)',
    "dead",
    "TypeError: There is no such account",
  ],
  [JID, "in 2h5m", "low", `Long("${"x".repeat(200)}")`, "retry", "naïve é 👨‍👩‍👧"],
];

Deno.test("a table is never wider than the terminal, and its jids are whole", () => {
  for (const width of [60, 80, 120, 200]) {
    const lines = tableLines(COLUMNS, ROWS, { width, painted: false });
    for (const line of lines) assert(textWidth(line) <= width, `${width}: ${line}`);
    assert(lines.slice(1).every((line) => line.startsWith(JID)), lines.join("\n"));
    assert(lines[2]!.includes("…"), lines.join("\n"));
  }
});

Deno.test("columns are aligned by width on the terminal, not by characters", () => {
  const rows = [["日本", 1, "x"], ["a", 22, "y"], ["é", 3, "z"], ["👍🏽", 4, "w"]];
  assertEquals(tableLines(["name", "n", "last"], rows, { width: 80, painted: false }), [
    "name   n  last",
    "日本   1  x",
    "a     22  y",
    "é      3  z",
    "👍🏽     4  w",
  ]);
});

Deno.test("other output has all columns, without colors", () => {
  const lines = tableLines(COLUMNS, ROWS, { width: Infinity, painted: false });
  for (const cell of ROWS.flat()) assert(lines.some((line) => line.includes(cell)), cell);
  assertEquals(lines.join("").includes("\x1b"), false);
});

Deno.test("a cell of a million characters is cut at 1,000, and so is the padding of other rows", () => {
  const long = "x".repeat(1_000_000);
  const mark = "e" + "\u0301".repeat(1_000_000);
  for (const width of [Infinity, 80]) {
    const lines = tableLines(COLUMNS, [[long, "now", "low", long, "dead", mark], ...ROWS], { width, painted: false });
    for (const line of lines) assert(line.length < 4_000, `${width}: ${line.length}`);
    assert(lines[1]!.includes("x…"));
  }
  assertEquals(tableLines(["a"], [["x".repeat(1_000)]], { width: Infinity, painted: false })[1]!.length, 1_000);
  const [, half] = tableLines(["a"], [["😀".repeat(600)]], { width: Infinity, painted: false });
  assert(half!.isWellFormed());
});

Deno.test("a jid that is wider than the terminal is cut", () => {
  const rows = [["j".repeat(500), "now", "low", "Hard()", "dead", ""], ...ROWS];
  for (const line of tableLines(COLUMNS, rows, { width: 120, painted: false })) assert(textWidth(line) <= 120, line);
});

Deno.test("optional columns are left out before others become too narrow", () => {
  const [narrow] = tableLines(COLUMNS, ROWS, { width: 70, painted: false });
  const [wide] = tableLines(COLUMNS, ROWS, { width: 200, painted: false });
  assertEquals([narrow!.includes("queue"), wide!.includes("queue")], [false, true]);
});

Deno.test("payloads can't send control sequences to the terminal", () => {
  const lines = tableLines(["a"], [["\x1b[2J\u202ehidden\n"]], { width: 80, painted: true });
  assertEquals(lines[1], "[2J hidden".padStart(11));
});

Deno.test("cut text ends with an ellipsis, and is never too wide", () => {
  assertEquals([cutText("abcdef", 6), cutText("abcdef", 5)], ["abcdef", "abcd…"]);
  assertEquals([cutText("日本語", 6), cutText("日本語", 5), cutText("日本語", 4)], ["日本語", "日本…", "日…"]);
  assertEquals([textWidth("👨‍👩‍👧"), textWidth("e\u0301"), textWidth("ﾊﾛｰ"), textWidth("한글")], [2, 1, 3, 4]);
});

Deno.test("a table may have any number of rows, and each cell is measured with one segmenter", () => {
  const { Segmenter } = Intl;
  let made = 0;
  class Counted extends Segmenter {
    constructor() {
      super();
      made++;
    }
  }
  Object.assign(Intl, { Segmenter: Counted });
  try {
    // Those beyond ASCII take most of the time.
    const rows = Array.from({ length: 150_000 }, (_, i) => [i < 1_000 ? "é" : "e"]);
    const lines = tableLines(["name"], rows, { width: 80, painted: false });
    assertEquals([lines.length, made <= 1], [150_001, true]);
  } finally {
    Object.assign(Intl, { Segmenter });
  }
});
