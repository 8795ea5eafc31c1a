/**
 * Waits for a job on a channel that announces jids: of records (`results.ts`), or of streams (`streams.ts`).
 *
 * @module
 */
import type { Context } from "../context.ts";

/** Poll interval for what isn't announced (missing permission, lost connection). */
const POLL_INTERVAL_MS = 1_000;

export class JidChannel {
  readonly #context: Context;
  readonly #channel: string;
  /** Wakes the waiters for a job, by its jid. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #listening = false;

  constructor(context: Context, channel: string) {
    this.#context = context;
    this.#channel = channel;
  }

  /** Resolves when `look` returns true for a job, or when `stop` aborts. Looks again when the job is announced. */
  async wait(jid: string, look: () => Promise<boolean>, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      // Listen first, then read: a message in between must not be missed.
      const announced = this.#announced(jid, stop);
      if (await look().catch(() => false)) return announced.cancel();
      await announced.promise;
    }
  }

  /** Waits until a job is announced, for {@linkcode POLL_INTERVAL_MS} at most. */
  #announced(jid: string, signal: AbortSignal): { readonly promise: Promise<void>; cancel(): void } {
    const woken = new AbortController();
    const wake = () => woken.abort();
    const waiters = this.#waiting.get(jid) ?? new Set();
    this.#waiting.set(jid, waiters.add(wake));
    void this.#listen();
    const promise = this.#context.client.clock.sleep(POLL_INTERVAL_MS, AbortSignal.any([signal, woken.signal])).then(
      () => {
        waiters.delete(wake);
        if (waiters.size === 0) this.#waiting.delete(jid);
      },
    );
    return { promise, cancel: wake };
  }

  async #listen(): Promise<void> {
    if (this.#listening) return;
    this.#listening = true;
    try {
      await this.#context.subscriptions.subscribe(this.#channel, (jid) => {
        for (const wake of this.#waiting.get(jid) ?? []) wake();
      });
    } catch {
      this.#listening = false;
    }
  }
}
