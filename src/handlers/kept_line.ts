/**
 * The lines that are kept with a job: a message and its fields, as the log of the worker shows them, bounded.
 *
 * @module
 */
import { type LogLevel, withFields } from "../log/format.ts";
import { mergeFields } from "../log/value.ts";

/** A longer message is truncated, so that its fields have room. */
const MAX_MESSAGE_CHARS = 200;
/** Bytes of a line in UTF-8. A heartbeat contains 20 lines of each running job. */
export const MAX_LINE_BYTES = 500;
const ELLIPSIS = "…";

const encoder = new TextEncoder();
const buffer = new Uint8Array(MAX_LINE_BYTES - encoder.encode(ELLIPSIS).length);

/**
 * Returns a line that is kept: `Importing file=orders.csv rows=12`, `WARN Row skipped row=3`. Of most lines the level is `info`.
 *
 * @param bound the fields of `log.with(…)`
 * @param fields a JavaScript handler may pass any value
 */
export function keptLine(
  level: LogLevel,
  message: string,
  bound: Readonly<Record<string, unknown>>,
  fields: unknown,
): string {
  const text = (level === "info" ? "" : `${level.toUpperCase()} `) + message.slice(0, MAX_MESSAGE_CHARS);
  const merged = mergeFields(bound, fields);
  return cutBytes(withFields(text, merged, { color: false, maxChars: MAX_LINE_BYTES }));
}

/** Cuts a text to {@linkcode MAX_LINE_BYTES}, between two characters. */
function cutBytes(text: string): string {
  // A character has 3 bytes at most for each unit of its length.
  if (text.length * 3 <= MAX_LINE_BYTES) return text;
  if (text.length <= MAX_LINE_BYTES && encoder.encode(text).length <= MAX_LINE_BYTES) return text;
  return text.slice(0, encoder.encodeInto(text, buffer).read) + ELLIPSIS;
}
