/**
 * Where a search found a job, if its row doesn't show the text. Pure.
 *
 * @module
 */
import { asText } from "../log/value.ts";

/** Characters that are shown around a word. */
const AROUND_CHARS = 20;

/**
 * Returns the fields by which a search found a job: `id: order-7`, or `field created_at` if only the name has the word. Empty if the
 * row shows each word.
 *
 * @param words in any case
 * @param shown the texts of its row
 * @param fields everything that the search looks at, with secrets masked
 */
export function foundIn(
  words: readonly string[],
  shown: readonly unknown[],
  fields: Readonly<Record<string, unknown>>,
): string {
  const visible = shown.map((text) => asText(text ?? "")).join("\n").toLowerCase();
  const hidden = words.map((word) => word.toLowerCase()).filter((word) => !visible.includes(word));
  if (hidden.length === 0) return "";
  const texts = Object.entries(fields).map(([name, value]) => [name, asText(value ?? "")] as const);
  const found = hidden.flatMap((word) => {
    const [field] = texts.flatMap(([name, text]) => {
      const at = text.toLowerCase().indexOf(word);
      return at < 0 ? [] : [`${name}: ${excerpt(text, at, word.length)}`];
    });
    const named = texts.find(([name]) => name.toLowerCase().includes(word));
    return field ?? (named === undefined ? [] : `field ${named[0]}`);
  });
  return [...new Set(found)].join(", ");
}

function excerpt(text: string, at: number, length: number): string {
  const [from, to] = [Math.max(0, at - AROUND_CHARS), at + length + AROUND_CHARS];
  return `${from > 0 ? "…" : ""}${text.slice(from, to)}${to < text.length ? "…" : ""}`;
}
