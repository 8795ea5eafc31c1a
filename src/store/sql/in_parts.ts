/**
 * Long lists in statements. They have one of a few lengths, so that few statements serve all.
 *
 * @module
 */

import type { Value } from "./body.ts";

/** Numbers of rows per statement, the largest that fits first: a call costs more than a row. */
export const ROWS_PER_STATEMENT = [64, 8, 1] as const;

/** Shortest run of consecutive numbers that is named by its first and last. */
const MIN_SPAN = 8;

/** A condition, with its first parameters. */
export interface Part<One> {
  readonly where: string;
  readonly values: readonly One[];
}

/**
 * Returns conditions on a column that together match these numbers. Consecutive numbers become one range, which costs less than
 * half as much as a list: the jobs of one queue usually are consecutive.
 */
export function inParts(ids: readonly number[], column: string): Part<number>[] {
  const sorted = new Float64Array(ids).sort();
  const rest: number[] = [];
  const parts: Part<number>[] = [];
  for (let from = 0; from < sorted.length;) {
    let to = from + 1;
    while (sorted[to] === sorted[to - 1]! + 1) to++;
    if (to - from >= MIN_SPAN) {
      parts.push({ where: `${column} BETWEEN ?1 AND ?2`, values: [sorted[from]!, sorted[to - 1]!] });
    } else for (let i = from; i < to; i++) rest.push(sorted[i]!);
    from = to;
  }
  return [...parts, ...lists(rest, column)];
}

/** Returns conditions on a column that together match these texts. */
export function inTexts(texts: readonly string[], column: string): Part<string>[] {
  return lists([...new Set(texts)], column);
}

/** A list that is too short repeats its last value. */
function lists<One>(all: readonly One[], column: string): Part<One>[] {
  const parts: Part<One>[] = [];
  const [most, some, one] = ROWS_PER_STATEMENT;
  for (let from = 0; from < all.length; from += most) {
    const values = all.slice(from, from + most);
    const length = values.length === 1 ? one : values.length <= some ? some : most;
    while (values.length < length) values.push(values.at(-1)!);
    parts.push({ where: `${column} IN (${PARAMETERS[length]})`, values });
  }
  return parts;
}

/** Returns rows as lists of values. */
export function* inLists(
  types: readonly string[],
  rows: readonly (readonly Value[])[],
): Iterable<{ readonly from: string; readonly values: readonly Value[] }> {
  const row = (i: number) => `(${types.map((type, j) => `CAST(?${i * types.length + j + 1} AS ${type})`).join(", ")})`;
  let from = 0;
  for (const count of ROWS_PER_STATEMENT) {
    for (; rows.length - from >= count; from += count) {
      const list = Array.from({ length: count }, (_, i) => row(i)).join(", ");
      yield { from: `(VALUES ${list}) AS given`, values: rows.slice(from, from + count).flat() };
    }
  }
}

/** `?1, ?2, ?3` by length. */
const PARAMETERS = Object.fromEntries(
  ROWS_PER_STATEMENT.map((length) => [length, Array.from({ length }, (_, i) => `?${i + 1}`).join(", ")]),
) as Record<typeof ROWS_PER_STATEMENT[number], string>;
