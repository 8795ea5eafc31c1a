/**
 * Long operations in the background: retrying a million jobs continues after the response, and every page shows its
 * progress. An operation ends with its process, without undoing its finished part.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log/log.ts";
import { type Progress, Refused } from "../operator/actions/action.ts";

/** The state of an operation. */
export interface Operation {
  /** The action and its target: "retry all in dead". */
  readonly label: string;
  /** Jobs changed so far. */
  readonly changed: number;
  /** Jobs at the start; 0 if unknown. */
  readonly total: number;
  readonly state: "running" | "succeeded" | "failed";
  /** The reason of a failure. */
  readonly error?: string;
}

/** How long a visitor waits for an action on many jobs, before it continues in the background. */
export const WAIT_MS = 1_500;
/** How long ended operations stay in the list. */
const SHOW_ENDED_MS = 30_000;
const MAX_RUNNING = 20;

interface Entry {
  label: string;
  changed: number;
  total: number;
  state: Operation["state"];
  error?: string;
  endedAt?: number;
}

/** The operations of this process. */
export class Operations {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #entries = new Set<Entry>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #end = new AbortController();

  /** @param clock times the list of ended operations */
  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Returns running operations, and those that ended within the last 30 s. */
  list(): readonly Operation[] {
    const now = this.#clock.monotonic();
    for (const entry of this.#entries) {
      if (entry.endedAt !== undefined && now - entry.endedAt > SHOW_ENDED_MS) this.#entries.delete(entry);
    }
    return Array.from(this.#entries, ({ endedAt: _, ...operation }) => operation);
  }

  /**
   * Starts an operation and waits up to {@linkcode WAIT_MS} for its end. After that, it continues in the background.
   *
   * @param work calls its argument after each step, which throws if the operation has to end
   * @returns its result; the part that is known if it continues
   * @throws {Refused} if 20 operations are running
   * @throws the error of `work` if it fails within {@linkcode WAIT_MS}
   */
  async run<Result>(
    label: string,
    work: (progress: (progress: Progress) => void) => Promise<Result>,
  ): Promise<Result | Partial<Result>> {
    if (this.#running.size >= MAX_RUNNING) {
      throw new Refused("unavailable", "Too many operations are running: wait until one has ended");
    }
    const entry: Entry = { label, changed: 0, total: 0, state: "running" };
    let known: Partial<Result> = {};
    const working = work(({ changed, total, answer }) => {
      Object.assign(entry, { changed, total });
      known = answer as Partial<Result>;
      this.#end.signal.throwIfAborted();
    });
    const over = new AbortController();
    const timeout = this.#clock.sleep(WAIT_MS, over.signal).then(() => undefined);
    const first = await Promise.race([working.then((result) => ({ result })), timeout]).finally(() => over.abort());
    if (first) return first.result;
    this.#entries.add(entry);
    const watched = working.then(
      () => void (entry.state = "succeeded"),
      (error: Error) => {
        entry.state = "failed";
        entry.error = error.message;
        if (!this.#end.signal.aborted) {
          this.#log.error("Operation failed", { label, changed: entry.changed, error: entry.error });
        }
      },
    ).then(() => {
      entry.endedAt = this.#clock.monotonic();
      this.#log.info("Operation ended", { label, changed: entry.changed, state: entry.state });
      this.#running.delete(watched);
    });
    this.#running.add(watched);
    return known;
  }

  /** Ends all operations, each at its next step. */
  async close(): Promise<void> {
    this.#end.abort(new Error("The dashboard stops"));
    await Promise.all(this.#running);
  }
}
