/**
 * Options of a class that were probably meant to be others. Unknown ones are kept on purpose, as fields of each payload, so
 * that a misspelt one would never be noticed: `retrys: 3`.
 *
 * @module
 */
import { closestWord } from "../text/suggest.ts";
import type { Handler } from "./handler.ts";

/** What handlers and pushes know. */
const KNOWN = [
  ...["queue", "retry", "retry_for", "retry_queue", "retryIn", "dead", "backtrace", "timeout", "expires_in"],
  ...["unique_for", "isolate", "result_ttl", "failure_ttl", "log_level", "tags", "wrapped", "display_class"],
];

/** What others call it, where no letters tell. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  retries: "retry",
  attempts: "retry",
  maxattempts: "retry",
  maxretries: "retry",
};

/** A line for people on each option that nobody knows but that is near one that is known. */
export function misspelledOptions(handlers: readonly Handler[]): string[] {
  return handlers.flatMap(({ class: name, options }) =>
    Object.entries(options).flatMap(([option, value]) => {
      const meant = value === undefined ? undefined : meantBy(option);
      if (meant === undefined) return [];
      // Functions are for this process alone.
      const now = typeof value === "function" ? "nobody calls it" : "it is written into each payload as it is";
      return [`Option ${JSON.stringify(option)} of class ${name}: did you mean "${meant}"? ${now}`];
    })
  );
}

/** What the option was probably meant to be; undefined when it is known, or near none. */
function meantBy(option: string): string | undefined {
  if (KNOWN.includes(option)) return undefined;
  const plain = option.replaceAll(/[_-]/g, "").toLowerCase();
  const same = KNOWN.find((known) => known.replaceAll("_", "").toLowerCase() === plain);
  return same ?? ELSEWHERE[plain] ?? closestWord(option, KNOWN);
}
