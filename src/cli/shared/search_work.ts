/**
 * A search through many jobs: its progress on stderr, and its end on Ctrl-C with the jobs found until then.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { Store } from "../../store/admin/store.ts";
import type { Source } from "../../store/ops/scan.ts";
import type { SearchWatch } from "../../store/port/entries.ts";
import { number } from "../../text/format.ts";
import { printError } from "../terminal/output.ts";
import { LongWork } from "../terminal/progress.ts";

/** A search. */
export class SearchWork implements Disposable {
  readonly #work: LongWork;
  readonly #total: number | undefined;
  #looked = 0;

  /**
   * @param options.total the number of jobs to search, approximately; undefined if unknown
   * @param options.drawn false if rows are printed all the time
   */
  constructor({ total, drawn = true }: { readonly total?: number; readonly drawn?: boolean } = {}) {
    this.#work = new LongWork("Searching", { drawn });
    this.#total = total;
  }

  /** Begins a search through all jobs that haven't ended. */
  static async ofAll({ admin }: Pick<Store, "admin">): Promise<SearchWork> {
    const { enqueued, scheduled, retry, dead } = await admin.stats();
    return new SearchWork({ total: enqueued + scheduled + retry + dead });
  }

  /** Aborts on Ctrl-C. */
  get signal(): AbortSignal {
    return this.#work.signal;
  }

  /** Lets the store report its steps. */
  get watch(): SearchWatch {
    return { signal: this.signal, onStep: (count) => this.#look(count) };
  }

  /** Returns a list whose reads are reported, and let a signal arrive: on SQLite, a read never yields to the event loop. */
  through<Row>(source: Source<Row>): Source<Row> {
    return {
      ...source,
      read: async (page) => {
        const part = await source.read(page);
        this.#look(part.rows.length);
        await systemClock.turn();
        return part;
      },
    };
  }

  /** Clears the line: before rows are printed on the same terminal. */
  clear(): void {
    this.#work.clear();
  }

  /** Returns the exit code, also when disposed. After Ctrl-C, prints how far the search got. */
  end(): number {
    this.clear();
    if (!this.signal.aborted) return 0;
    printError(
      `jobs: Interrupted: searched ${number(this.#looked)}${
        this.#total === undefined ? "" : ` of ${number(this.#total)}`
      } jobs`,
    );
    return 130;
  }

  #look(count: number): void {
    // Those that arrive meanwhile are searched, too.
    this.#looked = Math.min(this.#total ?? Infinity, this.#looked + count);
    this.#work.at({ done: this.#looked, ...(this.#total !== undefined && { total: this.#total }) });
  }

  [Symbol.dispose](): void {
    this.#work[Symbol.dispose]();
  }
}
