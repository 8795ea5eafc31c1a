/**
 * Objects that users write as JSON: a batch, a flow, a node.
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { parseLossless } from "../job/json.ts";
import { meantField, optionNames } from "../job/option_names.ts";

/** A job, as errors expect it. */
export const JOB_EXAMPLE = 'a job such as {"class": "Notify", "args": [42]}';
/** The fields of a job. The program's own fields go into `fields`. */
const JOB_FIELDS: readonly string[] = ["class", "args", ...optionNames("push"), "fields"];

/**
 * Parses an object.
 *
 * @param field its name in errors
 * @param expected its description in errors
 * @throws {InvalidPayload} if it isn't one
 */
export function parseObject(field: string, text: string, expected: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseLossless(text);
  } catch (error) {
    throw new InvalidPayload(field, (error as Error).message, "JSON");
  }
  return objectIn(field, value, expected);
}

/**
 * Returns a value that must be an object.
 *
 * @throws {InvalidPayload} if it isn't one
 */
export function objectIn(field: string, value: unknown, expected = "an object"): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidPayload(field, value, expected);
  }
  return value as Record<string, unknown>;
}

/**
 * Returns a value that must be a job. An unknown field is probably a typing error, such as `afer` for `after`.
 *
 * @param more the names of further fields
 * @throws {InvalidPayload} if it isn't an object, or has an unknown field
 */
export function jobIn(path: string, value: unknown, more: readonly string[] = []): Record<string, unknown> {
  const job = objectIn(path, value, JOB_EXAMPLE);
  const names = [...more, ...JOB_FIELDS];
  for (const name of Object.keys(job)) {
    if (names.includes(name)) continue;
    const meant = meantField(name, names);
    const expected = meant === undefined ? 'no such field: put your own into "fields"' : `"${meant}"`;
    throw new InvalidPayload(`${path}.${name}`, job[name], expected);
  }
  const { fields = {}, ...known } = job;
  return { ...objectIn(`${path}.fields`, fields, 'an object such as {"tenant": "acme"}'), ...known };
}
