/**
 * The values of parameters and columns: texts may contain a NUL, which PostgreSQL can't store.
 *
 * @module
 */

/** Stands for a NUL if `0` follows, and for itself if `1` does. Unicode reserves it for programs. */
const ESCAPE = "\u{10FFFE}";

/** Returns a text as it is stored. */
export function encode(text: string): string {
  if (!text.includes("\0") && !text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll("\0", `${ESCAPE}0`);
}

/** Returns a stored text. */
export function decode(text: string): string {
  return text.includes(ESCAPE) ? text.replaceAll(`${ESCAPE}0`, "\0").replaceAll(`${ESCAPE}1`, ESCAPE) : text;
}

/** Returns the literal of an array, to be cast: `$1::text[]`. */
export function array(values: readonly (string | number | null | undefined)[]): string {
  const items = values.map((value) =>
    value === null || value === undefined
      ? "NULL"
      : typeof value === "number"
      ? `${value}`
      : `"${value.replace(/["\\]/g, "\\$&")}"`
  );
  return `{${items.join(",")}}`;
}
