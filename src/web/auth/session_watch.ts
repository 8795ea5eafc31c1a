/**
 * Ends the open streams of sessions that have ended: a request is admitted once, and a stream stays open for hours.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** How soon a stream ends after its session did in another process. */
export const SESSION_CHECK_MS = 2_000;

/** The identity of a session: the same for each of its requests. */
interface Watched {
  readonly id: string;
}

/** The sessions that have open streams. */
export class SessionWatch<S extends Watched> {
  readonly #clock: Clock;
  readonly #isLive: (session: S) => Promise<boolean>;
  readonly #open = new Map<string, { readonly session: S; readonly enders: Set<() => void> }>();
  #idle = new AbortController();

  /** @param isLive returns whether a session has neither expired nor ended; it may fail */
  constructor(clock: Clock, isLive: (session: S) => Promise<boolean>) {
    this.#clock = clock;
    this.#isLive = isLive;
  }

  /** Calls `end` when a session ends. The returned function stops that. */
  follow(session: S, end: () => void): () => void {
    const watched = this.#open.get(session.id) ?? { session, enders: new Set() };
    watched.enders.add(end);
    this.#open.set(session.id, watched);
    if (this.#open.size === 1 && watched.enders.size === 1) {
      this.#idle = new AbortController();
      void this.#loop(this.#idle.signal);
    }
    return () => {
      if (!watched.enders.delete(end) || watched.enders.size > 0) return;
      if (this.#open.get(session.id) === watched) this.#forget(session.id);
    };
  }

  /** Ends the streams of a session. */
  end(id: string): void {
    const enders = [...this.#open.get(id)?.enders ?? []];
    this.#forget(id);
    for (const end of enders) end();
  }

  #forget(id: string): void {
    if (this.#open.delete(id) && this.#open.size === 0) this.#idle.abort();
  }

  async #loop(idle: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.sleep(SESSION_CHECK_MS, idle);
      if (idle.aborted) return;
      for (const { session } of [...this.#open.values()]) {
        try {
          if (!await this.#isLive(session)) this.end(session.id);
        } catch {
          // Without the store, a session continues; so do its requests once the store is back.
        }
        if (idle.aborted) return;
      }
    }
  }
}
