/**
 * The fields of a push that another program sends: a class, arguments, options, and the program's own fields within `fields`.
 *
 * @module
 */
import { meantName, meantOption, optionNames } from "./option_names.ts";
import { LINK_FIELDS } from "./payload.ts";
import { closestWord } from "./suggest.ts";
import { requireZone } from "./time.ts";

const PUSH_FIELDS = ["class", "args", ...optionNames("push"), "fields"];

/** The reason why a push is refused. */
export interface FieldProblem {
  readonly field: string;
  /** One line: what is wrong, and what to do. */
  readonly message: string;
}

/**
 * Returns the first field that is unknown, or that a program may not set; undefined if there is none.
 *
 * @param further names of further fields, which `push` doesn't have
 */
export function fieldProblem(
  push: Readonly<Record<string, unknown>>,
  further: readonly string[] = [],
): FieldProblem | undefined {
  const { fields, ...known } = push;
  const other = Object.keys(known).find((name) => !PUSH_FIELDS.includes(name));
  if (other !== undefined) {
    const meant = meantOption(other, "push") ?? meantName(other, further) ?? closestWord(other, PUSH_FIELDS);
    const hint = meant === undefined ? 'put your fields into "fields"' : `did you mean "${meant}"?`;
    return { field: other, message: `Unknown field "${other.slice(0, 80)}"; ${hint}` };
  }
  if (fields !== undefined && (typeof fields !== "object" || fields === null || Array.isArray(fields))) {
    return { field: "fields", message: `Invalid "fields": expected an object such as { "tenant": "acme" }` };
  }
  const names = Object.keys(fields ?? {});
  const taken = names.find((name) => PUSH_FIELDS.includes(name));
  if (taken !== undefined) {
    return { field: `fields.${taken}`, message: `"fields.${taken}" is an option: put it next to "class"` };
  }
  const own = names.find((name) => LINK_FIELDS.has(name));
  if (own === undefined) return undefined;
  return { field: `fields.${own}`, message: `"fields.${own}" is written by jobs alone: choose another name` };
}

/**
 * Returns a checked push as a client takes it: the program's fields next to the options.
 *
 * @throws {InvalidPayload} if `at` has no time zone: the program may run in another one than the server
 */
export function flatPush({ fields, ...known }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  requireZone(known["at"]);
  return { ...(fields as object | undefined), ...known };
}
