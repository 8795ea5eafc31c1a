/**
 * Objects that users write as JSON: a batch, a flow, a node.
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { parseLossless } from "../job/json.ts";

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
