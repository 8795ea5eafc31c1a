/**
 * The context that all parts of the SQLite store share.
 *
 * @module
 */
import { inLists } from "../sql/in_parts.ts";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Dialect } from "../sql/body.ts";
import type { GroupCommit } from "./group_commit.ts";
import type { Watch } from "./watch.ts";

/** Shared by all parts of the SQLite store. */
export interface Context {
  readonly database: DatabaseSync;
  /** Prepares a statement once. */
  readonly sql: (text: string) => StatementSync;
  readonly commit: GroupCommit;
  readonly watch: Watch;
  /** The store's time in whole epoch milliseconds. */
  readonly now: () => number;
  /** Returns a number for a take. No other take of the same worker has it. */
  readonly newTake: () => number;
  /** Yields to the event loop. */
  readonly turn: () => Promise<void>;
  /** Reads outside of transactions. Waits while the file is locked, and translates errors. */
  readonly read: <Result>(run: () => Result) => Promise<Result>;
  /** Fails if the file was deleted or replaced. For waits: nothing that they look at changes then. */
  readonly checkFile: () => void;
  /** Closes the file. */
  readonly close: () => void;
  readonly wire: 7 | 8;
  readonly deadMaxJobs: number;
  readonly deadMaxAgeMs: number;
}

/** The fields of a payload that an event has. */
const EVENT_FIELDS = ["class", "queue", "batch", "tags"];

/** The expressions of SQLite. */
export const DIALECT: Dialect = {
  whole: (column) => `CAST(${column} AS BLOB)`,
  like: "LIKE",
  // SQLite doesn't read JSON that is nested too deeply.
  fieldOf: (field) => `CASE WHEN json_valid(payload) THEN payload ->> '$.${field}' ELSE '?' END`,
  eventBody: (members) =>
    `'{' || ${members} || ',' || substr(CASE WHEN json_valid(payload) THEN json_object('jid', jid, ${
      EVENT_FIELDS.map((name) => `'${name}', payload -> '$.${name}'`).join(", ")
    }) ELSE json_object('jid', jid) END, 2)`,
  isIn: (select) => `IN (${select})`,
  queuedBetween: (first, last) =>
    `SELECT job, CAST(name AS BLOB) AS queue FROM queue CROSS JOIN queued ON queued.queue = queue.id AND job BETWEEN ${first} AND ${last}`,
  isStored: "id NOT IN (SELECT job FROM ended)",
  given: inLists,
  skipLocked: "",
};

/** Prepares each statement once, by its text. */
export function statementCache(database: DatabaseSync): (text: string) => StatementSync {
  const statements = new Map<string, StatementSync>();
  return (text) => {
    let statement = statements.get(text);
    if (statement === undefined) statements.set(text, statement = database.prepare(text));
    return statement;
  };
}
