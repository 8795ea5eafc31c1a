/** `make demo`, as it runs without a terminal. */
import { assert, assertEquals, assertMatch } from "@std/assert";

Deno.test("the demo names its dashboard, accounts for all jobs and ends by itself in a few lines", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-prompt", "examples/demo.ts"],
    cwd: new URL("../../", import.meta.url).pathname,
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  assertEquals(code, 0, text + new TextDecoder().decode(stderr));
  assertMatch(text, /^Dashboard: http:\/\/127\.0\.0\.1:\d+\/$/m);
  assertMatch(text, /^Done: \d+ jobs, \d+ failed attempts, 1 dead, none lost\.$/m);
  assertEquals(text.match(/^ {2}\.\/jobs \w+/gm)?.length, 3);
  assert(text.split("\n").length <= 25, text);
});
