/**
 * The classes part of the port: a hash of the options that workers declare.
 *
 * @module
 */
import { type ClassStore, type Declaration, DECLARATION_TTL_MS, type DeclaredClass } from "../port/classes.ts";
import type { Context } from "./context.ts";
import { CLASSES, DECLARED } from "./keys.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** A value of the hash. */
const DECLARATION = /^\{"declared_at":\d+,"options":(.*)\}$/s;

/** Returns the part. */
export function classesPart({ client, offset }: Context): ClassStore {
  return {
    async declare(classes, worker = "") {
      const declared = classes.map(({ name, options }) => ({ name, options }));
      const args = { classes: CLASSES, now: offset(), keepMs: DECLARATION_TTL_MS, worker, declared };
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
    async declarations() {
      const all = await client.call(["HGETALL", DECLARED]) as Record<string, string>;
      const found = Object.entries(all).flatMap(([field, value]) => parseDeclared(field, value));
      const inOrder = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;
      found.sort(([a, i], [b, j]) =>
        b.since - a.since || inOrder(b.worker, a.worker) || i - j || inOrder(a.name, b.name)
      );
      return found.map(([declaration]) => declaration);
    },
  };
}

/** Returns a declaration with its position; none for the mark that a worker has declared all webhooks that it knows. */
function parseDeclared(field: string, value: string): [declaration: Declaration, position: number][] {
  const [worker, what = ""] = field.split("\x01");
  const [, kind, name] = /^(class|webhook) (.*)$/s.exec(what) ?? [];
  const [, since, position, body] = /^(\d+) (\d+) (.*)$/s.exec(value) ?? [];
  if (worker === undefined || kind === undefined || body === undefined) return [];
  const declaration = { kind: kind as Declaration["kind"], name: name!, worker, body, since: Number(since) };
  return [[declaration, Number(position)]];
}

function parse(name: string, text: string | null | undefined): DeclaredClass[] {
  const options = DECLARATION.exec(text ?? "")?.[1];
  return options === undefined ? [] : [{ name, options }];
}
