/** Misuse of a step isn't the failure of a step, which a handler catches to undo earlier ones. */
import { assertEquals } from "@std/assert";
import { Lab } from "./lab.ts";

const CHILD = 'Job "Mail" of step "f": unknown field';

const NODE = {
  twice: 'Step name "a" is used twice in one run; in a loop, tell the steps apart with { each: id }',
  option: 'Unknown option "retries" of step "b": did you mean "retry"?',
  missing: 'Step "c" has no function to run: expected a function, got undefined',
  result: 'The result of step "d".amount is NaN; expected a finite number, or null',
  wait: 'Unknown option "keep_for" of step "e": expected key, timeout, example',
  list: `args is "abc"; expected an array of the handler's arguments, such as ["ada@example.com"]`,
  argument: "args[0] is NaN; expected a finite number, or null",
  child: `${CHILD} "retrys"; did you mean "retry"?`,
  patience: `${CHILD} "give_up_after"; did you mean "giveUpAfter"?`,
  field: `${CHILD} "tenant"; put your fields into "fields"`,
  duration: "duration is NaN; expected a finite number, or null",
};

const camelCase = 'Unknown option "giveUpAfter" of step "f": did you mean "give_up_after"?';

const PROGRAMS = [
  { command: ["node", "step_misuse.mjs"], odd: "NaN; expected a finite number, or null", expected: NODE },
  {
    command: ["python3", "step_misuse.py"],
    odd: "nan; expected a finite number, or None",
    expected: {
      ...NODE,
      twice: NODE.twice.replace("{ each: id }", "each=id"),
      missing: "Step 'c' has no function to run: expected a function, got None",
      result: 'The result of step "d".amount is nan; expected a finite number, or None',
      list: `args is 'abc'; expected a list of the handler's arguments, such as ["ada@example.com"]`,
      argument: "args[0] is nan; expected a finite number, or None",
      patience: camelCase,
      duration: "duration is nan; expected a finite number, or None",
    },
  },
  {
    command: ["ruby", "step_misuse.rb"],
    odd: "NaN; expected a finite number, or nil",
    expected: {
      ...NODE,
      twice: NODE.twice.replace("{ each: id }", "each: id"),
      missing: 'Step "c" has no block: expected ctx.step("c") { … }',
      result: 'The result of step "d".amount is NaN; expected a finite number, or nil',
      argument: "args[0] is NaN; expected a finite number, or nil",
      patience: camelCase,
      duration: "duration is NaN; expected a finite number, or nil",
    },
  },
];

for (const { command, odd, expected } of PROGRAMS) {
  Deno.test(`misuse of a step raises StepError in ${command[1]}`, async () => {
    await using lab = await Lab.open({ command });
    await lab.program().logged("Started");
    assertEquals((await lab.run("Misuse", [])).result, expected);
    // The job has done its work: it isn't repeated.
    const { state, log } = await lab.run("Odd", []);
    assertEquals([state, log], ["succeeded", [`WARN The result wasn't kept: The result.amount is ${odd}`]]);
  });
}
