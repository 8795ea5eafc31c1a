/**
 * Signals, which end the wait of a job (`ctx.waitFor`).
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { parseLossless, stringifyLossless } from "../job/json.ts";
import { MAX_STEP_CHARACTERS, MAX_STEP_NAME } from "../job/step.ts";
import { readSpan } from "../job/time.ts";
import { checkValue } from "../job/values.ts";
import type { SignalResult, StepStore } from "../store/port/steps.ts";

/** Options of a signal. */
export interface SignalOptions {
  /** If no job waits, the signal is kept for this long: seconds or a duration. Default 7d. */
  readonly keepFor?: number | string;
  /** False: if no job waits, the signal isn't kept, and reaches none. Default true. */
  readonly keep?: boolean;
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
  { keepFor = "7d", keep = true }: SignalOptions,
): Promise<SignalResult> {
  if (typeof key !== "string" || key === "" || key.length > MAX_STEP_NAME || !key.isWellFormed()) {
    throw new InvalidPayload("key", key, `1 to ${MAX_STEP_NAME} characters`);
  }
  const text = checkValue(data, "data") ? stringifyLossless(data)! : JSON.stringify(data);
  if (text.length > MAX_STEP_CHARACTERS) {
    throw new InvalidPayload("data", `${text.length} characters of JSON`, `at most ${MAX_STEP_CHARACTERS}`);
  }
  const ttlMs = readSpan("keepFor", keepFor) * 1_000;
  return steps.signal({ key, data: text, ttlMs: keep ? ttlMs : 0 });
}

/**
 * Reads the data of a signal as a user writes it: JSON, or else a text.
 *
 * @throws {InvalidPayload} if it begins as an object or array and isn't JSON
 */
export function readSignalData(text: string): unknown {
  try {
    return parseLossless(text);
  } catch (error) {
    // A job decides by the signal: a mistyped object must not reach it as a text, and so as one without the field.
    if (!/^\s*[{[]/.test(text)) return text;
    throw new InvalidPayload("data", text, `JSON after ${text.trim()[0]} (${(error as Error).message})`);
  }
}
