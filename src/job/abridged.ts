/**
 * A payload as it is shown with a running job: a heartbeat that carries it whole would send each running job again with
 * every beat.
 *
 * @module
 */
import { fieldTexts } from "./raw.ts";

/** A payload of at most this many characters is shown whole: 4 MB with a thousand running jobs. */
const MAX_WHOLE_CHARS = 4_000;
/** Of a longer one, fields of at most this many characters are kept, until there are as many as of a whole one. */
const MAX_FIELD_CHARS = 1_000;

/**
 * Returns a payload of at most some 4,000 characters. A longer one keeps its small fields; each large one becomes a
 * placeholder with its size, inside an array where it was one. Text that is not a JSON object is cut.
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
