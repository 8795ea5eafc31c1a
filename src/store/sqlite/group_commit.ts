/**
 * Group commit: what several callers ask at the same moment goes into one transaction, because a transaction costs one
 * write to the disk whatever is in it. Each caller is answered after the commit.
 *
 * @module
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Clock } from "../../clock.ts";
import { translate } from "./errors.ts";
import type { BusyRetry } from "./busy_retry.ts";

/** A transaction ends when it has so many rows to write: others want the lock, too. */
const MAX_ROWS = 1_000;

interface Operation {
  readonly rows: number;
  readonly run: () => unknown;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs operations in transactions. */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #patience: BusyRetry;
  readonly #onBegin: () => void;
  readonly #onCommit: () => void;
  readonly #begin: StatementSync;
  readonly #end: StatementSync;
  #waiting: Operation[] = [];
  #running: Promise<void> | undefined;

  /**
   * @param options.onBegin called before each transaction; when it throws, there is none
   * @param options.onCommit called after each transaction that was committed
   */
  constructor(
    database: DatabaseSync,
    options: { path: string; clock: Clock; patience: BusyRetry; onBegin?: () => void; onCommit: () => void },
  ) {
    this.#database = database;
    this.#path = options.path;
    this.#clock = options.clock;
    this.#patience = options.patience;
    this.#onBegin = options.onBegin ?? (() => {});
    this.#onCommit = options.onCommit;
    // IMMEDIATE: the lock is had or not had at the start, never half way.
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#end = database.prepare("COMMIT");
  }

  /**
   * Runs an operation in a transaction, maybe together with others. It may be run again from the start after a rollback,
   * so it must change nothing but the database.
   *
   * @param rows about how many rows it writes
   * @throws {StoreError} when it cannot be done; then nothing of it was
   */
  run<Result>(run: () => Result, rows = 1): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ rows, run, resolve: resolve as (result: unknown) => void, reject });
      this.#running ??= this.#drain();
    });
  }

  /** Resolves when nothing is under way; locks are waited for only a moment longer. */
  async end(): Promise<void> {
    this.#patience.hurry();
    while (this.#running) await this.#running;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Whoever asks in this turn of the event loop comes along. And it does turn, even if one who has just been answered
      // asks again at once.
      await this.#clock.turn();
      await this.#commit(this.#nextGroup());
    }
    this.#running = undefined;
  }

  #nextGroup(): Operation[] {
    let rows = 0;
    let count = 0;
    do rows += this.#waiting[count++]!.rows; while (count < this.#waiting.length && rows < MAX_ROWS);
    return this.#waiting.splice(0, count);
  }

  async #commit(group: readonly Operation[]): Promise<void> {
    try {
      this.#onBegin();
      await this.#patience.try(() => this.#begin.run());
    } catch (error) {
      // It is nobody's fault in particular, and to wait again for each would take too long.
      return this.#rejectAll(group, error);
    }
    let results: unknown[];
    try {
      results = group.map((operation) => operation.run());
      this.#end.run();
    } catch (error) {
      this.#rollBack();
      if (group.length === 1) return this.#rejectAll(group, error);
      // One of them may be at fault: each alone, so that it takes only itself down.
      for (const operation of group) await this.#commit([operation]);
      return;
    }
    group.forEach((operation, i) => operation.resolve(results[i]));
    this.#onCommit();
  }

  #rejectAll(group: readonly Operation[], error: unknown): void {
    const known = translate(error, this.#path);
    for (const operation of group) operation.reject(known);
  }

  #rollBack(): void {
    try {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back by itself.
    }
  }
}
