/**
 * A PostgreSQL server for the stores and systems that need one, with the settings that it is installed with: a push there is synced
 * to the disk.
 *
 * @module
 */
import { startPostgres } from "../support/postgres.ts";

/** A server, if there is one. */
export interface Postgres extends AsyncDisposable {
  readonly version: string | undefined;
  /** Why there is none. */
  readonly problem: string | undefined;
  /** Returns the address of an empty database, which replaces the one before. */
  empty(): Promise<string>;
  /** Returns a row of a table, measured on an empty database; none without a server. */
  row<Result>(
    run: (url: string) => Promise<Result>,
    what?: string,
  ): Readonly<Record<string, () => Promise<Result>>>;
}

/** Starts a server. */
export async function openPostgres(): Promise<Postgres> {
  try {
    const server = await startPostgres({ asInstalled: true });
    let database: string | undefined;
    const empty = async () => {
      if (database !== undefined) await server.sql(`DROP DATABASE ${database} WITH (FORCE)`);
      database = await server.create();
      return server.url(database);
    };
    return {
      version: server.version,
      problem: undefined,
      empty,
      row: (run, what) => ({ [what ? `PostgreSQL, ${what}` : "PostgreSQL"]: async () => await run(await empty()) }),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  } catch (error) {
    const problem = (error as Error).message;
    const none = () => Promise.reject(new Error(problem));
    return {
      version: undefined,
      problem,
      empty: none,
      row: () => ({}),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
}
