/**
 * Group commit: operations of several callers that begin at the same moment share a transaction, because a transaction
 * costs one sync of the disk, however large it is. Each caller gets its answer after the commit.
 *
 * A commit of nothing but deferrable operations isn't synced; the next one that is also syncs those before it. A power
 * failure may undo a deferrable operation, which must therefore be one that runs again by itself: a take, whose worker is
 * gone with the machine, a heartbeat, or a promotion. A crash of a process undoes nothing.
 *
 * @module
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Clock } from "../../clock.ts";
import type { WriteOptions } from "../sql/body.ts";
import { translate } from "./errors.ts";
import type { BusyRetry } from "./busy_retry.ts";

/** A transaction accepts no more operations after this many rows: other processes need the lock, too. */
const MAX_ROWS = 1_000;

interface Operation {
  readonly rows: number | (() => number);
  readonly deferrable: boolean;
  readonly run: () => unknown;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs operations in transactions. */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #busyRetry: BusyRetry;
  readonly #onBegin: () => void;
  readonly #onCommit: (wasSynced: boolean) => void;
  readonly #begin: StatementSync;
  readonly #end: StatementSync;
  /** Whether a commit is synced. */
  readonly #isSynced: boolean;
  #waiting: Operation[] = [];
  #running: Promise<void> | undefined;

  /**
   * @param options.onBegin called before each transaction; when it throws, there is none
   * @param options.onCommit called after each transaction that was committed, with whether it was synced
   */
  constructor(
    database: DatabaseSync,
    options: {
      path: string;
      clock: Clock;
      busyRetry: BusyRetry;
      onBegin?: () => void;
      onCommit: (wasSynced: boolean) => void;
    },
  ) {
    this.#database = database;
    this.#path = options.path;
    this.#clock = options.clock;
    this.#busyRetry = options.busyRetry;
    this.#onBegin = options.onBegin ?? (() => {});
    this.#onCommit = options.onCommit;
    // IMMEDIATE takes the lock at the start. Otherwise a transaction could fail for lack of it half way.
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#end = database.prepare("COMMIT");
    this.#isSynced = Number(Object.values(database.prepare("PRAGMA synchronous").get()!)[0]) >= 2;
  }

  /**
   * Runs an operation in a transaction, possibly with others. It may run again from the start after a rollback, so it must
   * change nothing but the database.
   *
   * @throws {StoreError} if it fails; then nothing of it is stored
   */
  run<Result>(run: () => Result, { rows = 1, deferrable = false }: WriteOptions = {}): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ rows, deferrable, run, resolve: resolve as (result: unknown) => void, reject });
      this.#running ??= this.#drain();
    });
  }

  /** Resolves when all operations have ended. Waits for a lock of another process only briefly from now on. */
  async end(): Promise<void> {
    this.#busyRetry.hurry();
    while (this.#running) await this.#running;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Operations of this turn of the event loop go together. A caller that repeats its operation at once can't keep the
      // loop from turning.
      await this.#clock.turn();
      await this.#commit(this.#nextGroup());
    }
    this.#running = undefined;
  }

  #nextGroup(): Operation[] {
    let rows = 0;
    let count = 0;
    do {
      const more = this.#waiting[count++]!.rows;
      rows += typeof more === "number" ? more : more();
    } while (count < this.#waiting.length && rows < MAX_ROWS);
    return this.#waiting.splice(0, count);
  }

  async #commit(group: readonly Operation[]): Promise<void> {
    const isDeferred = this.#isSynced && group.every(({ deferrable }) => deferrable);
    try {
      this.#onBegin();
      await this.#busyRetry.try(() => this.#start(isDeferred));
    } catch (error) {
      // None of them is the cause, and another wait for each would take too long.
      return this.#rejectAll(group, error);
    }
    const results = this.#finish(group, isDeferred);
    if ("error" in results) {
      if (group.length === 1) return this.#rejectAll(group, results.error);
      // One of them may be the cause. Each runs alone, so that it fails alone.
      for (const operation of group) await this.#commit([operation]);
      return;
    }
    group.forEach((operation, i) => operation.resolve(results.values[i]));
    this.#onCommit(this.#isSynced && !isDeferred);
  }

  #start(isDeferred: boolean): void {
    if (isDeferred) this.#database.exec("PRAGMA synchronous = NORMAL");
    try {
      this.#begin.run();
    } catch (error) {
      if (isDeferred) this.#database.exec("PRAGMA synchronous = FULL");
      throw error;
    }
  }

  #finish(group: readonly Operation[], isDeferred: boolean): { values: readonly unknown[] } | { error: unknown } {
    try {
      const values = group.map((operation) => operation.run());
      this.#end.run();
      return { values };
    } catch (error) {
      this.#rollBack();
      return { error };
    } finally {
      if (isDeferred) this.#database.exec("PRAGMA synchronous = FULL");
    }
  }

  #rejectAll(group: readonly Operation[], error: unknown): void {
    const known = translate(error, this.#path);
    for (const operation of group) operation.reject(known);
  }

  #rollBack(): void {
    try {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    } catch {
      // SQLite has already rolled back.
    }
  }
}
