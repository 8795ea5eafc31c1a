/**
 * Tests do not sleep: a test that waits a second for a loop is slow when all is well and fails when the machine is busy.
 *
 * @module
 */
import { isTest } from "./source.ts";

/** Waits from here on are sleeping. */
const SLEEP_MS = 1000;

/** Functions that wait, and which of their arguments says how long. */
const WAITS: Readonly<Record<string, number>> = { sleep: 0, delay: 0, setTimeout: 1 };

/** The rule `jobs/no-sleeping-tests`. */
export const noSleepingTests: Deno.lint.Rule = {
  create(context) {
    if (!isTest(context.filename)) return {};
    return {
      CallExpression(node) {
        const name = calledName(node.callee);
        const position = name === undefined ? undefined : WAITS[name];
        if (position === undefined) return;
        const ms = node.arguments[position];
        if (ms?.type !== "Literal" || typeof ms.value !== "number" || ms.value < SLEEP_MS) return;
        context.report({
          node,
          message:
            `A test that waits ${ms.value} ms: call the step, set the clock that you injected, or await the event ` +
            "(`AbortSignal.timeout` for a deadline)",
        });
      },
    };
  },
};

/** `sleep` of `sleep(…)` and of `clock.sleep(…)`. */
function calledName(callee: Deno.lint.Node): string | undefined {
  if (callee.type === "MemberExpression") return calledName(callee.property);
  return callee.type === "Identifier" ? callee.name : undefined;
}
