/**
 * The classes part of the port: the options that workers declare.
 *
 * @module
 */
import { type ClassStore, DECLARATION_TTL_MS } from "../port/classes.ts";
import { CLASS, declarations, declareAs, holdDeclarations } from "./declarations.ts";
import { type Engine, inOrder, query, type Row } from "./body.ts";

const DAY_MS = 86_400_000;

/** Returns the part. */
export function classesPart({ write, read }: Engine): ClassStore {
  return {
    declare: (classes, worker) =>
      write(function* (now) {
        if (worker !== undefined) yield holdDeclarations();
        for (const { name, options } of inOrder(classes, (one) => one.name)) {
          const declared = { name: CLASS + name, body: options, position: 0 };
          const isNew = worker === undefined || (yield* declareAs(worker, declared, now));
          // An unchanged declaration is written once a day, so that the start of a worker costs no write.
          yield query(
            isNew
              ? `INSERT INTO class (name, options, declared_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET options = ?2, declared_at = ?3
                 WHERE class.options <> ?2 OR class.declared_at < ?4`
              : `INSERT INTO class (name, options, declared_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET declared_at = ?3 WHERE class.declared_at < ?4`,
            [name, options, now, now - DAY_MS],
          );
        }
        yield query("DELETE FROM class WHERE declared_at < ?1", [now - DECLARATION_TTL_MS]);
      }, { rows: classes.length }),
    read: (names) =>
      read(function* () {
        const rows: Row[] = [];
        if (names === undefined) rows.push(...yield query("SELECT name, options FROM class"));
        for (const name of names ?? []) {
          rows.push(...yield query("SELECT name, options FROM class WHERE name = ?1", [name]));
        }
        return rows.map((row) => ({ name: String(row.name), options: String(row.options) }));
      }),
    declarations: () => read(declarations),
  };
}
