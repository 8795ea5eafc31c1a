/**
 * Finds options of classes that have less effect than they seem to. An unknown option is valid, as a field of each payload. Without a
 * warning, a misspelled one (`retrys: 3`) would have no effect.
 *
 * @module
 */
import { meantOption } from "../job/option_names.ts";
import { storedSchema } from "../job/schema/args_schema.ts";
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

/** Returns a warning for each schema whose library has no JSON Schema of it, so that other programs can't check their pushes. */
export function unstoredSchemas(handlers: readonly Handler[]): string[] {
  return handlers.filter(({ options: { schema } }) =>
    schema !== undefined && storedSchema(schema, "schema") === undefined
  ).map(({ class: name }) =>
    `The schema of class ${name} has no JSON Schema: only pushes of this program are checked; see docs/guides/schemas.md`
  );
}
