/**
 * Verbs written once for every SQL store: as bodies, which yield statements and receive their rows. A body awaits nothing, so that
 * SQLite runs it within one turn of the event loop, in the middle of a transaction.
 *
 * A store on a server runs a body in a transaction of one connection, with `await query(text, values)` where
 * {@linkcode runNow} calls SQLite. There, every `yield` is a round trip. Bodies keep to the SQL that SQLite and PostgreSQL share:
 *
 * - Parameters are numbered (`?1` becomes `$1`), and each has one type.
 * - `RETURNING` instead of the number of changed rows and the ID of the new one.
 * - `ON CONFLICT (columns)` instead of `INSERT OR …`. In `DO UPDATE`, the present columns have their table's name.
 * - `CASE` instead of `iif` and of `max` with two arguments; `string_agg`; a `LIMIT` is never negative; names in lower case; `"user"` in quotes.
 * - Texts are compared by their bytes: a server's columns have the collation `C`.
 * - A body holds what it reads and then writes: {@linkcode hold}, {@linkcode lock}. On a server, others commit between two statements.
 *
 * @module
 */
import type { EntryRow } from "./entries.ts";
import type { UnsweptKeys } from "./push_keys.ts";
import type { NewJob } from "../port/jobs.ts";

/** The value of a parameter. */
export type Value = string | number | null;

/** A row, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** A statement, or what no other transaction locks until this one ends: names, or the rows of a `SELECT`. */
export type Statement =
  | { readonly text: string; readonly values: readonly Value[] }
  | { readonly text?: undefined; readonly locks: readonly string[] }
  | { readonly text?: undefined; readonly locks?: undefined; readonly rows: string; readonly values: readonly Value[] };

/** The body of a verb. */
export type Body<T> = Generator<Statement, T, readonly Row[]>;

/** Options of a body that writes. */
export interface WriteOptions {
  /** About how many rows it writes, or returns that when the transaction begins. Default 1. */
  readonly rows?: number | (() => number);
  /** A power failure may undo it. Default false. */
  readonly deferrable?: boolean;
  /** A statement without an answer is lost after this time, and the transaction is repeated. Default: after the time of the store. */
  readonly replyTimeoutMs?: number;
  /** It fails with `held` after it has waited this long for a lock. Default: it is repeated for some seconds before. */
  readonly lockTimeoutMs?: number;
}

/** Rows for a statement. They are its first parameters. */
export interface Given {
  readonly from: string;
  readonly values: readonly Value[];
}

/** The expressions in which SQL stores differ. */
export interface Dialect {
  /** Returns SQL for a text that may contain a NUL. {@linkcode wholeText} reads it. */
  whole(column: string): string;
  /** Compares texts without regard to the case of ASCII letters. */
  readonly like: "LIKE" | "ILIKE";
  /** Returns SQL for the text of a payload's field; `?` if the payload is unreadable. */
  fieldOf(field: string): string;
  /** Returns SQL for the body of the event of a job's end: these members, and what the columns `jid` and `payload` have. */
  eventBody(members: string): string;
  /** Returns a condition on the column before it: its value is among those of a `SELECT`, which is read first. */
  isIn(select: string): string;
  /** Returns a `SELECT` of the jobs in queues whose IDs are between two values: `job`, and the name of its `queue`. Reads each queue once. */
  queuedBetween(first: string, last: string): string;
  /** A condition on a row of `job`: the job hasn't ended. Ended ones are removed later where a store says so. */
  readonly isStored: string;
  /**
   * Returns rows as what a `FROM` names, with the columns `column1`, `column2`, …: as few parts as the store allows, each for one statement. On
   * PostgreSQL it is one, so that the number of statements doesn't depend on that of the rows.
   */
  given(types: readonly ("bigint" | "text")[], rows: readonly (readonly Value[])[]): Iterable<Given>;
  /** The end of a `SELECT` that skips the rows that another transaction has locked, and locks the others. */
  readonly skipLocked: string;
}

/** Runs the bodies of a store. `now` is the store's time in whole epoch milliseconds. */
export interface Engine {
  readonly dialect: Dialect;
  /** Runs a body in a transaction. It may run again from the start after a rollback: it must change nothing but the store. */
  write<T>(body: (now: number) => Body<T>, options?: WriteOptions): Promise<T>;
  /** Runs a body that only reads. Its readings may be of several moments. */
  read<T>(body: (now: number) => Body<T>): Promise<T>;
  /** Runs a body that only reads. Its readings are of one moment. */
  readMoment<T>(body: (now: number) => Body<T>): Promise<T>;
  /** Returns the time by itself. */
  now(): Promise<number>;
  /** See `WorkerStore.losses`. */
  losses(): number;
  /** Yields to the event loop. */
  turn(): Promise<void>;
  /** Stores new jobs in their queues, or in `scheduled`, without regard to locks, keys and batches. Returns the ID of the first. */
  storeJobs(jobs: readonly NewJob[], now: number): Body<number>;
  /** The effects of ended nodes on others are left to `BatchStore.tend`: the transaction may stay open. Default false. */
  readonly spreadsLater?: boolean;
  /** Removes the rows of ended jobs, which are in no place and belong to no batch; or does so later. */
  removeEnded(jobs: readonly number[]): Body<void>;
  /** Deletes expired records, and the oldest beyond `MAX_RECORDS`. */
  trimRecords(now: number): Body<void>;
  /** Returns these entries as they are now. Those that aren't running stay so until the transaction ends. */
  holdEntries(rows: readonly EntryRow[]): Body<readonly EntryRow[]>;
  /** Returns the leases of a worker to their queues, except those of cancelled jobs. */
  returnLeases(worker: string): Body<void>;
  /** Returns the takes of those of these leases that the worker has, by job. Nothing else changes them until the transaction ends. */
  holdLeases(worker: string, leases: readonly (LeaseParts | undefined)[]): Body<Map<number, string>>;
  /** Changes the stored size of a queue, unless the store counts by itself. */
  grow(queue: number, by: number): Body<void>;
  /** Adds to a total. Returns whether it is the first of its name. */
  addToTotal(name: string, by: number): Body<boolean>;
  readonly unswept: UnsweptKeys;
  /** The format of times in payloads. */
  readonly wire: 7 | 8;
  readonly deadMaxJobs: number;
  readonly deadMaxAgeMs: number;
}

/** The parts of a token: the job, and the take. */
export interface LeaseParts {
  readonly job: number;
  readonly take: string;
}

/** Returns a statement. To `yield` it costs less than to delegate to a generator for each: nothing measurable. */
export function query(text: string, values: readonly Value[] = []): Statement {
  return { text, values };
}

/** Returns the body of a step that a store takes by itself, at once. */
export function* direct<T>(step: () => T): Body<T> {
  yield* [];
  return step();
}

/** Returns a text that was read by `Dialect.whole`: the driver of SQLite cuts a text at a NUL, but not bytes. */
export function wholeText(value: unknown): string {
  return typeof value === "string" ? value : new TextDecoder().decode(value as Uint8Array);
}

/**
 * Returns rows by their names: transactions that write rows that others write, too, do so in one order. In different ones, two would wait for
 * each other until the server ends one of them.
 */
export function inOrder<T>(rows: readonly T[], nameOf: (row: T) => string): T[] {
  return rows.toSorted((a, b) => nameOf(a) < nameOf(b) ? -1 : 1);
}

/** Locks names until the transaction ends. The first line of a body that writes what it has read names its locks here. */
export function lock(...names: readonly string[]): Statement {
  return { locks: names };
}

/**
 * Locks the rows of a `SELECT … FOR UPDATE` or `… FOR SHARE` until the transaction ends. Nothing waits for its reply, so it takes no round
 * trip. A row that the body reads afterwards is the latest: another transaction that changed it has ended.
 */
export function hold(text: string, values: readonly Value[] = []): Statement {
  return { rows: text, values };
}

/** Prepares a statement of SQLite. */
type Prepare = (text: string) => { readonly all: (...values: Value[]) => readonly Row[] };

/** Runs a body on SQLite, at once: inside a transaction if it writes. SQLite has one writer, so that locks cost nothing. */
export function runNow<T>(body: Body<T>, sql: Prepare): T {
  let step = body.next();
  while (!step.done) {
    const { value } = step;
    step = body.next(value.text === undefined ? [] : sql(value.text).all(...value.values));
  }
  return step.value;
}
