/**
 * The classes part of the port: a hash of the options that workers declare.
 *
 * @module
 */
import { type ClassStore, DECLARATION_TTL_MS, type DeclaredClass } from "../port/classes.ts";
import type { Context } from "./context.ts";
import { CLASSES } from "./keys.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** A value of the hash. */
const DECLARATION = /^\{"declared_at":\d+,"options":(.*)\}$/s;

/** Returns the part. */
export function classesPart({ client, offset }: Context): ClassStore {
  return {
    async declare(classes) {
      const declared = classes.map(({ name, options }) => ({ name, options }));
      const args = { classes: CLASSES, now: offset(), keepMs: DECLARATION_TTL_MS, declared };
      await client.run(SCRIPTS.declareClasses, args);
    },
    async read(names) {
      if (names === undefined) {
        const all = await client.call(["HGETALL", CLASSES]) as Record<string, string>;
        return Object.entries(all).flatMap(([name, text]) => parse(name, text));
      }
      if (names.length === 0) return [];
      const found = await client.call(["HMGET", CLASSES, ...names]) as (string | null)[];
      return names.flatMap((name, i) => parse(name, found[i]));
    },
  };
}

function parse(name: string, text: string | null | undefined): DeclaredClass[] {
  const options = DECLARATION.exec(text ?? "")?.[1];
  return options === undefined ? [] : [{ name, options }];
}
