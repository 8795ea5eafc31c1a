/** `make demo`, with and without a terminal. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { requireTool } from "../support/tools.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

Deno.test("the demo names its dashboard, accounts for all jobs and ends by itself in a few lines", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-prompt", "examples/demo.ts"],
    cwd: ROOT,
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  assertEquals(code, 0, text + new TextDecoder().decode(stderr));
  assertMatch(text, /^Dashboard: http:\/\/127\.0\.0\.1:\d+\/$/m);
  assertMatch(text, /^Done: \d+ jobs, \d+ failed attempts, 1 dead, none lost\.$/m);
  assertEquals(text.match(/^ {2}\.\/jobs \w+/gm)?.length, 3);
  assert(text.split("\n").length <= 25, text);
});

Deno.test("on a terminal, a key ends the demo's traffic, and its jobs are still accounted for", async () => {
  requireTool("python3");
  const demo = [Deno.execPath(), "run", "-A", "--no-prompt", "examples/demo.ts"];
  const { code, stdout, stderr } = await new Deno.Command("python3", {
    args: [`${ROOT}tests/support/typist.py`, "1 dead", "x", "--", ...demo],
    cwd: ROOT,
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  assertEquals(code, 0, text + new TextDecoder().decode(stderr));
  assertMatch(text, /^Done: \d+ jobs, \d+ failed attempts, 1 dead, none lost\.\r$/m);
  assert(!text.includes("The dashboard stays"), text);
});
