/**
 * Misspelled options of classes. Unknown options are allowed, as fields of each payload, so a misspelled one (`retrys: 3`)
 * would never be noticed.
 *
 * @module
 */
import { meantOption } from "../job/options.ts";
import type { Handler } from "./handler.ts";

/** Returns a warning for each unknown option whose name is close to a known one. */
export function misspelledOptions(handlers: readonly Handler[]): string[] {
  return handlers.flatMap(({ class: name, options }) =>
    Object.entries(options).flatMap(([option, value]) => {
      const meant = value === undefined ? undefined : meantOption(option, "class");
      if (meant === undefined) return [];
      // Functions stay in this process.
      const now = typeof value === "function" ? "it is never called" : "it is written into each payload as it is";
      return [`Option ${JSON.stringify(option)} of class ${name}: did you mean "${meant}"? ${now}`];
    })
  );
}
