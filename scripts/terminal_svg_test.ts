import { assertEquals, assertMatch } from "@std/assert";
import { animate, readLine } from "./terminal_svg.ts";

Deno.test("reads the styles of a line of a terminal", () => {
  assertEquals(readLine("\x1b[1mjobs\x1b[0m  \x1b[32m12\x1b[39m\x1b[0m ok"), [
    { text: "jobs", column: 0, styles: ["1"] },
    { text: "12", column: 6, styles: ["32"] },
    { text: " ok", column: 8, styles: [] },
  ]);
  assertEquals(readLine("\x1b[1;31mbad\x1b[39m bold\x1b[22m plain").map(({ styles }) => styles), [
    ["1", "31"],
    ["1"],
    [],
  ]);
  assertEquals(readLine("\x1b[7m  \x1b[0m"), [{ text: "  ", column: 0, styles: ["7"] }]);
  assertEquals(readLine("   "), []);
});

Deno.test("draws each distinct line once, and one frame at a time", () => {
  const svg = animate(["same\none <b>", "same\ntwo"], { columns: 10, rows: 2, frameMs: 500, title: "jobs top" });
  assertEquals([...svg.matchAll(/<g id="l\d+">/g)].length, 3);
  assertEquals([...svg.matchAll(/href="#l0"/g)].length, 2);
  assertMatch(svg, /one &lt;b&gt;/);
  assertMatch(svg, /animation:play 1s steps\(2\) infinite/);
});
