/**
 * What servers say of the classes they perform: one hash.
 *
 * @module
 */
import { type DeclaredClass, FORGOTTEN_AFTER_MS } from "../port/classes.ts";
import type { Context } from "./context.ts";
import { CLASSES } from "./keys.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** A value of the hash. */
const DECLARATION = /^\{"declared_at":\d+,"options":(.*)\}$/s;

/** See `ClassStore.declareClasses`. */
export async function declareClasses({ link, offset }: Context, classes: readonly DeclaredClass[]): Promise<void> {
  const said = classes.flatMap(({ name, options }) => [name, options]);
  await link.run(SCRIPTS.declare, [CLASSES], [offset(), `${FORGOTTEN_AFTER_MS}`, ...said]);
}

/** See `ClassStore.declaredClasses`. */
export async function declaredClasses(
  { link }: Context,
  names: readonly string[] | undefined,
): Promise<DeclaredClass[]> {
  if (names === undefined) {
    const all = await link.call(["HGETALL", CLASSES]) as Record<string, string>;
    return Object.entries(all).flatMap(([name, text]) => read(name, text));
  }
  if (names.length === 0) return [];
  const found = await link.call(["HMGET", CLASSES, ...names]) as (string | null)[];
  return names.flatMap((name, i) => read(name, found[i]));
}

function read(name: string, text: string | null | undefined): DeclaredClass[] {
  const options = DECLARATION.exec(text ?? "")?.[1];
  return options === undefined ? [] : [{ name, options }];
}
