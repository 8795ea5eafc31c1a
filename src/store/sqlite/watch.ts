/**
 * Waiting for what others commit. SQLite tells nobody, but a connection can ask cheaply whether the file has changed:
 * `PRAGMA data_version`. It is asked only while somebody waits; what this connection commits itself is known at once.
 *
 *  1. It is asked every few milliseconds, which takes one per cent of a core.
 *  2. When nothing has changed for a while, it is asked no more: the kernel tells when the log is written to
 *     (`wal_watcher.ts`). Then it is asked at once and often, as the commit follows soon, and goes on as before.
 *  3. Where the kernel tells nothing, it is asked every few milliseconds for ever.
 *
 * @module
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { every } from "../../clock.ts";

/** At what intervals it is asked. */
const PACES_MS = {
  /** A writing was heard: as a rule its commit comes in the next milliseconds. */
  prompt: 2,
  /** A push from another process is seen within so much. */
  usual: 15,
  /** Writings are heard. What ends by the clock, such as a pause, changes nothing in the file: that is looked at. */
  hearing: 300,
};
/** So many askings without a change, and the next pace is taken. */
const TIMES = 10;
/** So many askings: half a second, at the usual pace. */
const LOOK_ANYWAY = 33;
/** After so many changes that were not heard, hearing is given up. */
const MAX_MISSED = 3;

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
  readonly #hear: (told: () => void) => (() => void) | undefined;
  #known = -1;
  #pace: keyof typeof PACES_MS = "usual";
  /** Askings without a change, at this pace. */
  #asked = 0;
  #missed = 0;
  #isDeaf = false;
  #stopAsking: (() => void) | undefined;
  #stopHearing: (() => void) | undefined;
  #isClosed = false;
  /** Somebody waits for something that comes soon. */
  #isSoon = false;

  /** @param hear calls back when others may have written, until what it returns is called; undefined when it cannot */
  constructor(database: DatabaseSync, hear: (told: () => void) => (() => void) | undefined = () => undefined) {
    this.#version = database.prepare("PRAGMA data_version");
    this.#hear = hear;
  }

  /** Resolves as soon as `look` returns true, or `signal` aborts, or the store is closed. Never rejects. */
  until(look: Look, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#isClosed) return Promise.resolve();
    const seen = safely(look);
    if (seen === true) return Promise.resolve();
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
      if (seen === "soon") this.#lookSoon();
    });
  }

  /** Whether the store is closed, and nothing is waited for any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** This connection has changed something. */
  changed(): void {
    if (this.#pace === "usual") this.#asked = 0;
    this.#look();
  }

  #look(): void {
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
    this.#go("usual");
    this.#known = this.#ask();
    // What came between the waiter's look and this first question.
    this.#look();
  }

  #stop(): void {
    this.#stopAsking?.();
    this.#stopAsking = undefined;
    this.#stopHearing?.();
    this.#stopHearing = undefined;
  }

  #go(pace: keyof typeof PACES_MS): void {
    this.#stop();
    this.#pace = pace;
    this.#asked = 0;
    this.#stopAsking = every(PACES_MS[pace], () => this.#tick());
  }

  #tick(): void {
    if (this.#isNew()) {
      if (this.#pace === "hearing" && ++this.#missed === MAX_MISSED) this.#isDeaf = true;
      if (this.#pace === "usual") this.#asked = 0;
      else this.#go("usual");
      return this.#look();
    }
    if (this.#isSoon) {
      this.#lookSoon();
      return this.#look();
    }
    this.#asked++;
    if (this.#pace === "hearing" || this.#asked % LOOK_ANYWAY === 0) return this.#look();
    if (this.#asked < TIMES) return;
    if (this.#pace === "prompt") this.#go("usual");
    else if (!this.#isDeaf) this.#listen();
  }

  /** What comes soon is looked at with each asking, at the usual pace, for as long as it is to come. */
  #lookSoon(): void {
    this.#isSoon = true;
    if (this.#pace !== "usual") this.#go("usual");
  }

  /** From here on the kernel tells, if it can. */
  #listen(): void {
    const stopHearing = this.#hear(() => this.#told());
    if (stopHearing === undefined) {
      this.#isDeaf = true;
      return;
    }
    this.#go("hearing");
    this.#stopHearing = stopHearing;
    // What came before it was heard.
    if (!this.#isNew()) return;
    this.#go("usual");
    this.#look();
  }

  /** Somebody writes. */
  #told(): void {
    this.#missed = 0;
    this.#go("prompt");
    this.#tick();
  }

  /** Whether there is something that was not there before. */
  #isNew(): boolean {
    const version = this.#ask();
    if (version === this.#known) return false;
    this.#known = version;
    return true;
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
