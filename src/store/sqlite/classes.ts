/**
 * What servers say of the classes they perform.
 *
 * @module
 */
import type { DeclaredClass } from "../classes.ts";
import type { Context } from "./context.ts";

/** Keeps the declarations. */
export class Classes {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** See `ClassStore.declareClasses`. */
  declare(classes: readonly DeclaredClass[]): Promise<void> {
    return this.#context.commit.run(() => {
      for (const { name, options } of classes) {
        // What is said again is not written again: a start costs no page.
        this.#context.sql(
          `INSERT INTO class (name, options) VALUES (?1, ?2)
           ON CONFLICT (name) DO UPDATE SET options = ?2 WHERE options <> ?2`,
        ).run(name, options);
      }
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
