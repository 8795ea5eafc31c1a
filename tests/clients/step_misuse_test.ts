/** Misuse of a step in Python and Ruby isn't the failure of a step, which a handler catches to undo earlier ones. */
import { assertEquals, assertMatch } from "@std/assert";
import { Lab } from "./lab.ts";

const PROGRAMS = [
  { command: ["python3", "step_misuse.py"], each: "each=id" },
  { command: ["ruby", "step_misuse.rb"], each: "each: id" },
];

for (const { command, each } of PROGRAMS) {
  Deno.test(`misuse of a step raises StepError in ${command[1]}`, async () => {
    await using lab = await Lab.open({ command });
    await lab.program().logged("Started");
    const [twice, unknown, missing] = (await lab.run("Misuse", [])).result as string[];
    assertEquals(twice, `Step name "a" is used twice in one run; in a loop, tell the steps apart with ${each}`);
    assertEquals(unknown, 'Unknown option "retries" of step "b": did you mean "retry"?');
    assertMatch(missing!, /^Step ['"]c['"] has no (function|block)[^\n]*: expected /);
  });
}
