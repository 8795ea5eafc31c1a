/**
 * What takes longer than a visitor waits: retrying a million jobs goes on after the answer, and every page says how far
 * it is. An operation ends with its process; what it has done by then is done.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import { HttpError } from "../http/body.ts";

/** A long piece of work, as pages show it. */
export interface Operation {
  /** What it does: "Retry dead". */
  readonly label: string;
  /** Jobs changed so far. */
  readonly done: number;
  /** Jobs there were at its start; 0 when nobody knows. */
  readonly total: number;
  readonly state: "running" | "done" | "failed";
  /** Why it failed. */
  readonly error?: string;
}

/** Says that so many more are done; throws when the operation is to end. */
export type Progress = (more: number) => void;

/** A finished one is shown so long. */
const SHOWN_MS = 30_000;
const MAX_RUNNING = 20;

interface Entry {
  label: string;
  done: number;
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

  /** Finished ones are forgotten by this clock. */
  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Those that run, and those that have just ended. */
  list(): readonly Operation[] {
    const now = this.#clock.monotonic();
    for (const entry of this.#entries) {
      if (entry.endedAt !== undefined && now - entry.endedAt > SHOWN_MS) this.#entries.delete(entry);
    }
    return [...this.#entries];
  }

  /**
   * Starts one and waits for it, but no longer than `patienceMs`: then it goes on by itself.
   *
   * @returns how many it changed; undefined when it goes on
   * @throws {HttpError} when too many run already
   * @throws what it throws within that time
   */
  async run(
    { label, total, patienceMs }: { readonly label: string; readonly total: number; readonly patienceMs: number },
    work: (progress: Progress) => Promise<void>,
  ): Promise<number | undefined> {
    if (this.#running.size >= MAX_RUNNING) {
      throw new HttpError(503, "Too many operations run; wait until one has ended");
    }
    const entry: Entry = { label, done: 0, total, state: "running" };
    const working = work((more) => {
      entry.done += more;
      this.#end.signal.throwIfAborted();
    });
    const over = new AbortController();
    const patience = this.#clock.sleep(patienceMs, over.signal).then(() => undefined);
    const first = await Promise.race([working.then(() => entry), patience]).finally(() => over.abort());
    if (first) return entry.done;
    this.#entries.add(entry);
    const watched = working.then(
      () => void (entry.state = "done"),
      (error: Error) => {
        entry.state = "failed";
        entry.error = error.message;
        if (!this.#end.signal.aborted) {
          this.#log.error("Operation failed", { label, done: entry.done, error: entry.error });
        }
      },
    ).then(() => {
      entry.endedAt = this.#clock.monotonic();
      this.#log.info("Operation ended", { label, done: entry.done, state: entry.state });
      this.#running.delete(watched);
    });
    this.#running.add(watched);
    return undefined;
  }

  /** Ends them all, each at its next step. */
  async close(): Promise<void> {
    this.#end.abort(new Error("The dashboard stops"));
    await Promise.all(this.#running);
  }
}
