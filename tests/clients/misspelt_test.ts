/** Options of the clients that would have no effect are refused, in one line that names the cure. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { requireTool } from "../support/tools.ts";

const KINDS = [["node", "misspelt.mjs", "TypeError"], ["python3", "misspelt.py", "TypeError"], [
  "ruby",
  "misspelt.rb",
  "ArgumentError",
]] as const;

for (const [runtime, file, kind] of KINDS) {
  Deno.test(`${file} is refused options that are misspelt`, async () => {
    requireTool(runtime);
    const args = [new URL(file, import.meta.url).pathname];
    const { success, stdout, stderr } = await new Deno.Command(runtime, { args }).output();
    const decoder = new TextDecoder();
    assert(success, decoder.decode(stderr));
    const [close, far, required, client, missing]: string[] = JSON.parse(decoder.decode(stdout));
    assertMatch(
      close!,
      new RegExp(`^${kind}: Unknown option "concurency" of [\\w:. ]+: did you mean "concurrency"\\?$`),
    );
    assertMatch(
      far!,
      new RegExp(`^${kind}: Unknown option "colour" of [\\w:. ]+: expected .*concurrency, queues, .*$`),
    );
    assertMatch(required!, /Unknown option "handler" .* did you mean "handlers"\?$/);
    assertMatch(client!, /Unknown option "tokn" .* did you mean "token"\?$/);
    assertMatch(missing!, /: Missing handlers: expected [^\n]+$/);
    assertEquals([close, far, required, client, missing].filter((text) => text!.includes("\n")), []);
  });
}
