/**
 * The fields of a shape as the page of `--json` lists them.
 *
 * @module
 */
import type { Shape, TypeOf } from "./shape.ts";

/** A field on the page of `--json`: its path, with `?` at the end if it may be absent, its type and its meaning. */
export type Row = readonly [path: string, word: string, about: string];

/** Returns the fields of a value, and those below them. `[]` is each element of a list, `{}` each value of an object by name. */
export function rowsOf(shape: Shape<unknown>, prefix = "", isAbsent = false): Row[] {
  const { fields = {}, each } = shape;
  const own = Object.entries(fields).flatMap(([name, field]): Row[] => {
    const path = prefix === "" ? name : `${prefix}.${name}`;
    const mayBeAbsent = isAbsent || field.isOptional === true;
    return [
      [mayBeAbsent ? `${path}?` : path, field.word, field.about],
      ...rowsOf(field, path, mayBeAbsent),
    ];
  });
  if (each === undefined) return own;
  const path = `${prefix}${each.path}`.replace(/^\./, "");
  return [...own, ...rowsOf(each.shape, path, isAbsent && each.path !== "[]")];
}

/** Returns a shape that the page of `--json` names without its fields: another command of the page has them. */
export function folded<S extends Shape<unknown>>(
  about: string,
  { fields: _, each: __, ...shape }: S,
): Shape<TypeOf<S>> {
  return { ...(shape as unknown as Shape<TypeOf<S>>), about, word: "any" };
}
