/**
 * The decision about a job that its handler makes by throwing `Discard`, `Kill` or `Snooze` (`errors.ts`).
 *
 * @module
 */
import { readSafely, showValue } from "./describe_error.ts";

export type Verdict =
  | { readonly kind: "discard" }
  | { readonly kind: "kill" }
  | {
    readonly kind: "snooze";
    readonly delayMs: number;
    /** Why the delay is invalid, if the default replaces it. */
    readonly problem?: string;
  };

/** The delay of a `Snooze` that has no valid delay. */
const DEFAULT_SNOOZE_MS = 60_000;

/**
 * Returns the decision of a thrown value; undefined for a plain failure. Errors are identified by name, not by class: a
 * handler may be bundled with another copy of this library. Never throws.
 */
export function verdictOf(thrown: unknown): Verdict | undefined {
  try {
    if (!(thrown instanceof Error)) return undefined;
    switch (thrown.name) {
      case "Discard":
      case "Cancelled":
        return { kind: "discard" };
      case "Kill":
      case "WorkerDied":
      case "Unperformable": // would fail in each worker
      case "StepFailed": // would fail again: the step stays failed
      case "ChildFailed":
        return { kind: "kill" };
      case "Snooze": {
        const delayMs = readSafely(() => (thrown as { delayMs?: unknown }).delayMs);
        if (isDelay(delayMs)) return { kind: "snooze", delayMs };
        const problem = `delayMs is ${showValue(delayMs)}; expected milliseconds`;
        return { kind: "snooze", delayMs: DEFAULT_SNOOZE_MS, problem };
      }
    }
  } catch {
    // A getter that throws decides nothing.
  }
  return undefined;
}

function isDelay(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && Number.isSafeInteger(Math.round(value));
}
