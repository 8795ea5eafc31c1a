/**
 * Shortens payloads where many are shown.
 *
 * @module
 */
import { fieldTexts } from "./raw.ts";

/** A payload of at most this many characters stays whole: 4 MB for a thousand running jobs. */
const MAX_WHOLE_CHARS = 4_000;
/** A longer payload keeps its fields of at most this many characters, up to the length of a whole payload. */
const MAX_FIELD_CHARS = 1_000;

/**
 * Shortens a payload for display. Heartbeats contain the payloads of all running jobs, and lists those of many: whole payloads
 * would make them large, and slow.
 *
 * Returns a payload of at most about 4,000 characters. A longer one keeps its small fields, and each large field becomes a
 * placeholder with its size, in an array if the field is one. Text that isn't a JSON object is truncated.
 */
export function abridged(payload: string): string {
  if (payload.length <= MAX_WHOLE_CHARS) return payload;
  const fields = fieldTexts(payload);
  if (fields === undefined) return payload.slice(0, MAX_WHOLE_CHARS);
  const kept: string[] = [];
  let length = 0;
  for (const [name, text] of fields) {
    const field = `${JSON.stringify(name)}:${text.length <= MAX_FIELD_CHARS ? text : placeholder(text)}`;
    length += field.length + 1;
    if (length > MAX_WHOLE_CHARS) break;
    kept.push(field);
  }
  return `{${kept.join(",")}}`;
}

function placeholder(text: string): string {
  const size = JSON.stringify(`(${text.length} characters)`);
  return text.startsWith("[") ? `[${size}]` : size;
}
