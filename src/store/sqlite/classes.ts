/**
 * The classes part of the port: the options that workers declare.
 *
 * @module
 */
import { type ClassStore, DECLARATION_TTL_MS } from "../port/classes.ts";
import type { Context } from "./context.ts";

const DAY_MS = 86_400_000;

/** Returns the part. */
export function classesPart({ commit, read, sql, now }: Context): ClassStore {
  return {
    declare: (classes) =>
      commit.run(() => {
        for (const { name, options } of classes) {
          // An unchanged declaration is written once a day, so that the start of a worker costs no write.
          sql(
            `INSERT INTO class (name, options, declared_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET options = ?2, declared_at = ?3
             WHERE options <> ?2 OR declared_at < ?3 - ?4`,
          ).run(name, options, now(), DAY_MS);
        }
        sql("DELETE FROM class WHERE declared_at < ?").run(now() - DECLARATION_TTL_MS);
      }, { rows: classes.length }),
    read: (names) =>
      read(() => {
        const rows = names === undefined
          ? sql("SELECT name, options FROM class").all()
          : names.flatMap((name) => sql("SELECT name, options FROM class WHERE name = ?").all(name));
        return rows.map((row) => ({ name: String(row.name), options: String(row.options) }));
      }),
  };
}
