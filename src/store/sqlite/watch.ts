/**
 * Waiting for what others commit. SQLite tells nobody, but a connection can ask cheaply whether the file has changed:
 * `PRAGMA data_version`. It is asked every few milliseconds, and only while somebody waits; what this connection commits
 * itself is known at once.
 *
 * @module
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { every } from "../../clock.ts";

/** A push from another process is seen within so much. At this pace, waiting takes some 0.6 % of a core. */
const INTERVAL_MS = 15;
/** So many askings: half a second. What ends by the clock, such as a pause, changes nothing in the file. */
const LOOK_ANYWAY = 33;

/** Whether what is waited for is there; "soon" when the clock will bring it, at a time that it would be late to miss. */
type Look = () => boolean | "soon";

interface Waiter {
  /** Asked only after a change, or when it said "soon". */
  readonly look: Look;
  readonly wake: () => void;
}

/** Wakes waiters when the database has changed. */
export class Watch {
  readonly #version: StatementSync;
  readonly #waiters = new Set<Waiter>();
  #known = -1;
  #stopAsking: (() => void) | undefined;
  #isClosed = false;
  /** Somebody waits for something that comes soon. */
  #isSoon = false;

  constructor(database: DatabaseSync) {
    this.#version = database.prepare("PRAGMA data_version");
  }

  /** Resolves as soon as `look` returns true, or `signal` aborts, or the store is closed. Never rejects. */
  until(look: Look, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#isClosed || safely(look) === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiters.delete(waiter);
        if (this.#waiters.size === 0) this.#stop();
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const waiter = { look, wake };
      this.#waiters.add(waiter);
      signal.addEventListener("abort", wake, { once: true });
      this.#start();
    });
  }

  /** Whether the store is closed, and nothing is waited for any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** This connection has changed something. */
  changed(): void {
    this.#isSoon = false;
    for (const { look, wake } of this.#waiters) {
      const seen = safely(look);
      if (seen === true) wake();
      else if (seen === "soon") this.#isSoon = true;
    }
  }

  /** Wakes everybody. */
  close(): void {
    this.#isClosed = true;
    for (const { wake } of this.#waiters) wake();
  }

  #start(): void {
    if (this.#stopAsking !== undefined) return;
    let asked = 0;
    this.#stopAsking = every(INTERVAL_MS, () => {
      const version = this.#ask();
      if (version === this.#known && !this.#isSoon && ++asked % LOOK_ANYWAY > 0) return;
      this.#known = version;
      this.changed();
    });
    this.#known = this.#ask();
    // What came between the waiter's look and this first question.
    this.changed();
  }

  #stop(): void {
    this.#stopAsking?.();
    this.#stopAsking = undefined;
  }

  #ask(): number {
    try {
      return Number((this.#version.get() as { data_version: number }).data_version);
    } catch {
      return this.#known; // closed, or busy: the next time tells
    }
  }
}

/** A look that fails (the store is busy, or closed) wakes: whoever waited finds out what is the matter. */
function safely(look: Look): ReturnType<Look> {
  try {
    return look();
  } catch {
    return true;
  }
}
