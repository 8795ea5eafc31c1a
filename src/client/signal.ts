/**
 * Signals, which end the wait of a job (`ctx.waitFor`).
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { stringifyLossless } from "../job/json.ts";
import { MAX_STEP_CHARACTERS, MAX_STEP_NAME } from "../job/step.ts";
import { readSpan } from "../job/time.ts";
import { checkValue } from "../job/values.ts";
import type { SignalResult, StepStore } from "../store/port/steps.ts";

/** Options of a signal. */
export interface SignalOptions {
  /** If no job waits, the signal is kept for this long: seconds or a duration. Default 7d. */
  readonly keepFor?: number | string;
}

/**
 * Checks a signal and sends it.
 *
 * @throws {InvalidPayload} if the key is empty or too long, or the data is not JSON or too large
 */
export function sendSignal(
  steps: Pick<StepStore, "signal">,
  key: string,
  data: unknown,
  { keepFor = "7d" }: SignalOptions,
): Promise<SignalResult> {
  if (typeof key !== "string" || key === "" || key.length > MAX_STEP_NAME || !key.isWellFormed()) {
    throw new InvalidPayload("key", key, `1 to ${MAX_STEP_NAME} characters`);
  }
  const text = checkValue(data, "data") ? stringifyLossless(data)! : JSON.stringify(data);
  if (text.length > MAX_STEP_CHARACTERS) {
    throw new InvalidPayload("data", `${text.length} characters of JSON`, `at most ${MAX_STEP_CHARACTERS}`);
  }
  return steps.signal({ key, data: text, ttlMs: readSpan("keepFor", keepFor) * 1_000 });
}
