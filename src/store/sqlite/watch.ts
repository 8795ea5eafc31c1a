/**
 * Waits for commits of other connections. SQLite reports none, but `PRAGMA data_version` tells cheaply whether the file
 * has changed. It is read only while there are waiters; the commits of this connection are known at once.
 *
 *  1. A new waiter polls every 2 ms at first, because work often follows work.
 *  2. After that, the kernel reports writes to the log (`wal_watcher.ts`). A write precedes its commit by one sync to the
 *     disk, so each report starts the fast polls again. Another report follows a synced commit.
 *  3. Without a change, the polls become rare. Waits that end by the clock, such as a pause, still need them.
 *  4. While this connection commits a lot, the kernel would report those writes. The watch polls every 15 ms instead.
 *  5. Where the kernel reports nothing, the polls stay at 15 ms, which takes one percent of a core.
 *  6. A connection whose waits may end late polls at a fixed interval: reports of a busy file would take 15 % of a core.
 *
 * @module
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { every } from "../../clock.ts";

/** The intervals between two polls. */
const PACES_MS = {
  /** At the start, and after a report of the kernel: usually the commit follows within milliseconds. */
  prompt: 2,
  /** A commit that was not reported is seen after this time. */
  usual: 15,
  /** While the kernel reports writes. */
  listening: 300,
};
/** After this many polls without a change, the next slower pace follows. */
const POLLS_PER_PACE = 10;
/** After this many polls at the usual pace (half a second), waiters look even if the file hasn't changed. */
const LOOK_ANYWAY = 33;
/** Commits of this connection between two polls, after which it no longer listens. */
const MAX_OWN_COMMITS = 2;
/** After this many changes without a report, the kernel's reports are no longer used. */
const MAX_MISSED = 3;

/** Returns whether a wait has ended; "soon" if time alone ends it shortly, so that a slow pace would be late. */
type Look = () => boolean | "soon";

interface Waiter {
  /** Called only after a change, or after it returned "soon". */
  readonly look: Look;
  readonly wake: () => void;
}

/** Subscribes to writes: calls `onWrite` until the returned function is called. Undefined if it cannot. */
type Subscribe = (onWrite: () => void) => (() => void) | undefined;

/** Wakes waiters when the database has changed. */
export class Watch {
  readonly #version: StatementSync;
  readonly #waiters = new Set<Waiter>();
  readonly #subscribe: Subscribe;
  #known = -1;
  #pace: keyof typeof PACES_MS = "prompt";
  /** Polls without a change, at this pace. */
  #polls = 0;
  /** Changes in a row that the kernel did not report. */
  #missed = 0;
  /** Whether the last change has come without a report so far. */
  #isUnreported = false;
  #canListen = true;
  /** Commits of this connection since the last poll. */
  #ownCommits = 0;
  #stopPolling: (() => void) | undefined;
  #unsubscribe: (() => void) | undefined;
  #isClosed = false;
  /** Whether a waiter's look returned "soon". */
  #isSoon = false;

  readonly #pollMs: number | undefined;
  readonly #every: typeof every;

  /**
   * @param subscribe reports writes to the log
   * @param options.pollMs a fixed interval of the polls, without reports
   * @param options.repeat the timer of the polls; default: by the system clock
   */
  constructor(
    database: DatabaseSync,
    subscribe: Subscribe,
    { pollMs, repeat = every }: { readonly pollMs?: number | undefined; readonly repeat?: typeof every } = {},
  ) {
    this.#version = database.prepare("PRAGMA data_version");
    this.#subscribe = subscribe;
    this.#pollMs = pollMs;
    this.#every = repeat;
    this.#canListen = pollMs === undefined;
  }

  /** Resolves as soon as `look` returns true, `signal` aborts, or the store closes. Never rejects. */
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

  /** Whether the store is closed: every wait ends at once. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Notes that this connection has committed a change. */
  changed(): void {
    this.#ownCommits++;
    this.#look();
  }

  /** Wakes all waiters. */
  close(): void {
    this.#isClosed = true;
    for (const { wake } of this.#waiters) wake();
  }

  #look(): void {
    this.#isSoon = false;
    for (const { look, wake } of this.#waiters) {
      const seen = safely(look);
      if (seen === true) wake();
      else if (seen === "soon") this.#isSoon = true;
    }
  }

  #start(): void {
    if (this.#stopPolling !== undefined) return;
    this.#setPace("prompt");
    this.#known = this.#read();
    // A commit may have come between the waiter's look and this first poll.
    this.#look();
  }

  #stop(): void {
    this.#stopPolling?.();
    this.#stopPolling = undefined;
    this.#stopListening();
  }

  #stopListening(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#isUnreported = false;
  }

  #setPace(pace: keyof typeof PACES_MS): void {
    this.#stopPolling?.();
    this.#pace = pace;
    this.#polls = 0;
    this.#stopPolling = this.#every(this.#pollMs ?? PACES_MS[pace], () => this.#poll());
  }

  #poll(): void {
    const own = this.#ownCommits;
    this.#ownCommits = 0;
    if (own > MAX_OWN_COMMITS) this.#stopListening();
    if (this.#hasChanged()) return this.#onChange(own > 0);
    if (this.#isSoon) {
      this.#lookSoon();
      return this.#look();
    }
    this.#polls++;
    if (this.#pace === "listening" || this.#polls % LOOK_ANYWAY === 0) return this.#look();
    if (this.#pace === "usual") {
      if (own > 0) this.#polls = 0;
      else if (this.#unsubscribe === undefined) this.#listen();
      else if (this.#polls >= POLLS_PER_PACE) this.#setPace("listening");
      return;
    }
    if (this.#polls < POLLS_PER_PACE) return;
    this.#setPace("usual");
    if (this.#isUnreported) this.#noteMissed();
    if (own === 0) this.#listen();
  }

  #onChange(isBusy: boolean): void {
    // The report may still come: the prompt polls give it its time.
    if (this.#pace !== "prompt" && this.#unsubscribe !== undefined && !isBusy) this.#isUnreported = true;
    this.#setPace(isBusy ? "usual" : "prompt");
    this.#look();
  }

  /** Notes a change without a report. Listens again, in case the log is another file now, unless that happens repeatedly. */
  #noteMissed(): void {
    this.#isUnreported = false;
    this.#stopListening();
    if (++this.#missed === MAX_MISSED) this.#canListen = false;
  }

  #listen(): void {
    if (this.#unsubscribe !== undefined || !this.#canListen) return;
    this.#unsubscribe = this.#subscribe(() => this.#onWrite());
    this.#canListen = this.#unsubscribe !== undefined;
    // A write may have come before the subscription.
    if (this.#hasChanged()) {
      this.#setPace("prompt");
      this.#look();
    }
  }

  /** Polls at the usual pace until the time has come. */
  #lookSoon(): void {
    this.#isSoon = true;
    if (this.#pace === "listening") this.#setPace("usual");
  }

  #onWrite(): void {
    this.#missed = 0;
    this.#isUnreported = false;
    if (this.#ownCommits > 0) {
      // Most likely it was this connection. If not, the next poll sees it.
      if (this.#pace === "listening") this.#setPace("usual");
      else if (this.#pace === "prompt") this.#polls = 0;
      return;
    }
    if (this.#pace === "prompt") this.#polls = 0;
    else this.#setPace("prompt");
    this.#poll();
  }

  /** Returns whether the file has changed since the last poll. */
  #hasChanged(): boolean {
    const version = this.#read();
    if (version === this.#known) return false;
    this.#known = version;
    return true;
  }

  #read(): number {
    try {
      return Number((this.#version.get() as { data_version: number }).data_version);
    } catch {
      return this.#known; // closed, or busy: the next poll finds out
    }
  }
}

/** Looks. An error (the store is busy, or closed) ends the wait: the waiter meets it when it continues. */
function safely(look: Look): ReturnType<Look> {
  try {
    return look();
  } catch {
    return true;
  }
}
