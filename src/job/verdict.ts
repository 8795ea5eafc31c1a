/**
 * The decision about a job that its handler makes by throwing `Discard`, `Kill` or `Snooze` (`errors.ts`). Marks carry it (`mark.ts`), and
 * never names.
 *
 * @module
 */
import { readSafely, showValue } from "./describe_error.ts";
import { markOf } from "./mark.ts";

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

/** Returns the decision of a thrown value, by its mark; undefined for a plain failure. Never throws. */
export function verdictOf(thrown: unknown): Verdict | undefined {
  switch (markOf(thrown)) {
    case "discard":
      return { kind: "discard" };
    case "kill":
      return { kind: "kill" };
    case "snooze": {
      const delayMs = readSafely(() => (thrown as { delayMs?: unknown }).delayMs);
      if (isDelay(delayMs)) return { kind: "snooze", delayMs };
      const problem = `delayMs is ${showValue(delayMs)}; expected milliseconds`;
      return { kind: "snooze", delayMs: DEFAULT_SNOOZE_MS, problem };
    }
  }
  return undefined;
}

function isDelay(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && Number.isSafeInteger(Math.round(value));
}
