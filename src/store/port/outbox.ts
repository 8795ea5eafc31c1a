/**
 * The outbox: a table in the database of an application, from which workers push jobs. A row is part of the application's
 * transaction, so a job exists if and only if that commits.
 *
 * @module
 */

/** A committed row. */
export interface OutboxRow {
  /** Its position. */
  readonly number: number;
  /** A UUID. */
  readonly id: string;
  /** The JSON text of the job; undefined if it is larger than the limit. */
  readonly job: string | undefined;
}

/** A refused row. */
export interface RefusedRow {
  /** Its position. */
  readonly number: number;
  /** The beginning of its job. */
  readonly job: string;
  /** Why it was refused. */
  readonly error: string;
}

/** The counts of an outbox. */
export interface OutboxState {
  /** Rows that wait, up to {@linkcode MAX_COUNTED_ROWS}. */
  readonly waiting: number;
  /** The age of the oldest row that waits, in milliseconds. */
  readonly oldestMs?: number;
  /** Refused rows, up to {@linkcode MAX_COUNTED_ROWS}. */
  readonly refused: number;
}

/** Bounds of the rows that are taken together. */
export interface OutboxBounds {
  readonly rows: number;
  readonly bytes: number;
  /** A larger job isn't read. */
  readonly jobBytes: number;
}

/** A larger number of rows isn't counted. */
export const MAX_COUNTED_ROWS = 10_000;

/** The outbox in one database. */
export interface Outbox extends AsyncDisposable {
  /** Its address without the password. */
  readonly shown: string;
  /**
   * Takes rows that no other worker has, calls `push`, and deletes them, in one transaction. If it ends in between, they are pushed
   * again.
   *
   * @param push returns for each row why it is refused, or undefined. The row is kept then, with the reason.
   * @param onKept called for each row that can't be read, or can't be changed after its job was pushed: it is kept with that reason
   * @returns for how many rows `push` was called
   * @throws {StoreError} if the database fails
   */
  relay(
    bounds: OutboxBounds,
    push: (rows: readonly OutboxRow[]) => Promise<readonly (string | undefined)[]>,
    onKept?: (number: number, reason: string) => void,
  ): Promise<number>;
  /** Calls `onCommit` when rows may have been committed. Returns what ends that. */
  listen(onCommit: () => void): () => Promise<void>;
  /** Counts its rows. */
  read(): Promise<OutboxState>;
  /** Returns refused rows, the first by number. */
  refused(limit: number): Promise<readonly RefusedRow[]>;
  /** Pushes refused rows again; of all numbers by default. Returns how many. */
  retry(numbers?: readonly number[]): Promise<number>;
}
