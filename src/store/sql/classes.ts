/**
 * The classes part of the port: the options that workers declare.
 *
 * @module
 */
import { type ClassStore, DECLARATION_TTL_MS, type DeclaredClass } from "../port/classes.ts";
import { all, type Engine } from "./body.ts";

const DAY_MS = 86_400_000;

/** Returns the part. */
export function classesPart({ write, read }: Engine): ClassStore {
  return {
    declare: (classes) =>
      write(function* (now) {
        for (const { name, options } of classes) {
          // An unchanged declaration is written once a day, so that the start of a worker costs no write.
          yield* all(
            `INSERT INTO class (name, options, declared_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET options = ?2, declared_at = ?3
             WHERE class.options <> ?2 OR class.declared_at < ?4`,
            [name, options, now, now - DAY_MS],
          );
        }
        yield* all("DELETE FROM class WHERE declared_at < ?1", [now - DECLARATION_TTL_MS]);
      }, { rows: classes.length }),
    read: (names) =>
      read(function* () {
        if (names === undefined) return [...yield* all<DeclaredClass>("SELECT name, options FROM class")];
        const found: DeclaredClass[] = [];
        for (const name of names) {
          found.push(...yield* all<DeclaredClass>("SELECT name, options FROM class WHERE name = ?1", [name]));
        }
        return found;
      }),
  };
}
