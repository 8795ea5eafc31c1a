/**
 * The JSON text of what a step stores: its result, or the cursor of an iteration.
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { stringifyLossless } from "../job/json.ts";
import { MAX_STEP_CHARACTERS } from "../job/step.ts";
import { checkValue } from "../job/values.ts";
import { StepError } from "./errors.ts";

/**
 * Returns the JSON text of a result or cursor; empty for undefined.
 *
 * @throws {StepError} if the value isn't JSON, or the text is longer than {@linkcode MAX_STEP_CHARACTERS}
 */
export function resultText(name: string, value: unknown, label: "result" | "cursor" = "result"): string {
  if (value === undefined) return "";
  const text = jsonText(value, `${label} of step "${name}"`);
  if (text.length <= MAX_STEP_CHARACTERS) return text;
  throw new StepError(
    `The ${label} of step "${name}" has ${text.length} characters of JSON; at most ${MAX_STEP_CHARACTERS}: keep it elsewhere, and return where`,
  );
}

function jsonText(value: unknown, path: string): string {
  try {
    return checkValue(value, path) ? stringifyLossless(value)! : JSON.stringify(value);
  } catch (error) {
    if (error instanceof InvalidPayload) throw new StepError(`The ${error.message}`);
    throw error;
  }
}
