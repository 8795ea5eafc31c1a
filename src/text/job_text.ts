/**
 * Parts of jobs as text.
 *
 * @module
 */
import type { Payload } from "../job/job.ts";
import { stringifyLossless } from "../job/json.ts";
import { asText } from "../log/value.ts";

/** Returns `TypeError: no such account`. The fields may contain any JSON value. */
export function errorText({ error_class, error_message }: Pick<Payload, "error_class" | "error_message">): string {
  return `${asText(error_class)}: ${asText(error_message)}`;
}

/** Returns arguments as in a call. */
export function argsText(args: readonly unknown[]): string {
  return args.map((arg) => stringifyLossless(arg)).join(", ");
}
