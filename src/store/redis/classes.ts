/**
 * What servers say of the classes they perform: one hash.
 *
 * @module
 */
import type { DeclaredClass } from "../classes.ts";
import type { Context } from "./context.ts";
import { CLASSES } from "./keys.ts";

/** See `ClassStore.declareClasses`. */
export async function declareClasses({ link }: Context, classes: readonly DeclaredClass[]): Promise<void> {
  if (classes.length === 0) return;
  await link.call(["HSET", CLASSES, ...classes.flatMap(({ name, options }) => [name, options])]);
}

/** See `ClassStore.declaredClasses`. */
export async function declaredClasses(
  { link }: Context,
  names: readonly string[] | undefined,
): Promise<DeclaredClass[]> {
  if (names === undefined) {
    const all = await link.call(["HGETALL", CLASSES]) as Record<string, string>;
    return Object.entries(all).map(([name, options]) => ({ name, options }));
  }
  if (names.length === 0) return [];
  const found = await link.call(["HMGET", CLASSES, ...names]) as (string | null)[];
  return names.flatMap((name, i) => {
    const options = found[i];
    return typeof options === "string" ? [{ name, options }] : [];
  });
}
