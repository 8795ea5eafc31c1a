/**
 * Long operations in the background: retrying a million jobs continues after the response, and every page shows its
 * progress. An operation ends with its process, without undoing its finished part.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log/log.ts";
import { HttpError } from "./http/body.ts";

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

/** Adds to the number of changed jobs. Throws if the operation has to end. */
export type Progress = (more: number) => void;

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
   * Starts an operation and waits up to `waitMs` for its end. After that, it continues in the background.
   *
   * @returns how many jobs it changed; undefined if it continues
   * @throws {HttpError} if 20 operations are running
   * @throws the error of `work` if it fails within `waitMs`
   */
  async run(
    { label, total, waitMs }: { readonly label: string; readonly total: number; readonly waitMs: number },
    work: (progress: Progress) => Promise<void>,
  ): Promise<number | undefined> {
    if (this.#running.size >= MAX_RUNNING) {
      throw new HttpError(503, "Too many operations are running: wait until one has ended");
    }
    const entry: Entry = { label, changed: 0, total, state: "running" };
    const working = work((more) => {
      entry.changed += more;
      this.#end.signal.throwIfAborted();
    });
    const over = new AbortController();
    const timeout = this.#clock.sleep(waitMs, over.signal).then(() => undefined);
    const first = await Promise.race([working.then(() => entry), timeout]).finally(() => over.abort());
    if (first) return entry.changed;
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
    return undefined;
  }

  /** Ends all operations, each at its next step. */
  async close(): Promise<void> {
    this.#end.abort(new Error("The dashboard stops"));
    await Promise.all(this.#running);
  }
}
