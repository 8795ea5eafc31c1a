/** `make demo`, with and without a terminal. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { requireTool } from "../support/tools.ts";
import { denoCommand, outputOf } from "../../scripts/deno_command.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const DEMO = denoCommand("run", "-A", "--no-prompt", "examples/demo.ts");

Deno.test("the demo names its dashboard, accounts for all jobs and ends by itself in a few lines", async () => {
  const { code, stdout: text, stderr } = await outputOf(DEMO, { cwd: ROOT });
  assertEquals(code, 0, text + stderr);
  assertMatch(text, /^Dashboard: http:\/\/127\.0\.0\.1:\d+\/$/m);
  assertMatch(text, /^Done: \d+ jobs, \d+ failed attempts, 1 dead, none lost\.$/m);
  assertEquals(text.match(/^ {2}\.\/jobs \w+/gm)?.length, 3);
  assert(text.split("\n").length <= 25, text);
});

Deno.test("on a terminal, a key ends the demo's traffic, and its jobs are still accounted for", async () => {
  requireTool("python3");
  const { code, stdout, stderr } = await new Deno.Command("python3", {
    args: [`${ROOT}tests/support/typist.py`, "1 dead", "x", "--", ...DEMO],
    cwd: ROOT,
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  assertEquals(code, 0, text + new TextDecoder().decode(stderr));
  assertMatch(text, /^Done: \d+ jobs, \d+ failed attempts, 1 dead, none lost\.\r$/m);
  assert(!text.includes("The dashboard stays"), text);
});
