/**
 * Finds misspelled options of classes. An unknown option is valid, as a field of each payload. Without a warning, a
 * misspelled one (`retrys: 3`) would have no effect.
 *
 * @module
 */
import { meantOption } from "../job/option_names.ts";
import type { Handler } from "./handler.ts";

/** Returns a warning for each unknown option whose name is close to a known one. */
export function misspelledOptions(handlers: readonly Handler[]): string[] {
  return handlers.flatMap(({ class: name, options }) =>
    Object.entries(options).flatMap(([option, value]) => {
      const meant = value === undefined ? undefined : meantOption(option, "class");
      if (meant === undefined) return [];
      // Payloads never contain functions.
      const effect = typeof value === "function" ? "it is never called" : "it is written unchanged into each payload";
      return [`Option ${JSON.stringify(option)} of class ${name}: did you mean "${meant}"? ${effect}`];
    })
  );
}
