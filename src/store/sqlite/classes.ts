/**
 * What servers say of the classes they perform.
 *
 * @module
 */
import { type DeclaredClass, FORGOTTEN_AFTER_MS } from "../port/classes.ts";
import type { Context } from "./context.ts";

const DAY_MS = 86_400_000;

/** Keeps the declarations. */
export class Classes {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** See `ClassStore.declareClasses`. */
  declare(classes: readonly DeclaredClass[]): Promise<void> {
    const { sql, now } = this.#context;
    return this.#context.commit.run(() => {
      for (const { name, options } of classes) {
        // What is said again the same day is not written again: a start costs no page.
        sql(
          `INSERT INTO class (name, options, declared_at) VALUES (?1, ?2, ?3)
           ON CONFLICT (name) DO UPDATE SET options = ?2, declared_at = ?3
           WHERE options <> ?2 OR declared_at < ?3 - ?4`,
        ).run(name, options, now(), DAY_MS);
      }
      sql("DELETE FROM class WHERE declared_at < ?").run(now() - FORGOTTEN_AFTER_MS);
    }, classes.length);
  }

  /** See `ClassStore.declaredClasses`. */
  declared(names: readonly string[] | undefined): Promise<DeclaredClass[]> {
    return this.#context.read(() => {
      const { sql } = this.#context;
      const rows = names === undefined
        ? sql("SELECT name, options FROM class").all()
        : names.flatMap((name) => sql("SELECT name, options FROM class WHERE name = ?").all(name));
      return rows.map((row) => ({ name: String(row.name), options: String(row.options) }));
    });
  }
}
