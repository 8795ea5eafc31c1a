/**
 * What the parts of this adapter share.
 *
 * @module
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { GroupCommit } from "./group_commit.ts";
import type { Watch } from "./watch.ts";

/** What the parts share. */
export interface Context {
  readonly database: DatabaseSync;
  /** Prepares a statement once. */
  readonly sql: (text: string) => StatementSync;
  readonly commit: GroupCommit;
  readonly watch: Watch;
  /** The store's time in whole epoch milliseconds. */
  readonly now: () => number;
  /** Returns a name for a take. No other take has it. */
  readonly newTakeName: () => string;
  /** Lets others run. */
  readonly turn: () => Promise<void>;
  /** Reads outside of transactions; waits while the file is locked, and translates errors. */
  readonly read: <Result>(run: () => Result) => Promise<Result>;
  /** Lets go of the file. */
  readonly close: () => void;
  readonly wire: 7 | 8;
  readonly deadMaxJobs: number;
  readonly deadMaxAgeMs: number;
}

/** Prepares each statement once, by its text. */
export function statementCache(database: DatabaseSync): (text: string) => StatementSync {
  const statements = new Map<string, StatementSync>();
  return (text) => {
    let statement = statements.get(text);
    if (statement === undefined) statements.set(text, statement = database.prepare(text));
    return statement;
  };
}
