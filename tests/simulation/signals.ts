/**
 * The signals of a simulation. Those of the runtime are event targets, whose listeners take as long as a statement of SQLite.
 *
 * @module
 */

/** Making one for each signal takes longer than a transaction. */
const ABORTED = new DOMException("The signal has been aborted", "AbortError");

class Signal {
  aborted = false;
  reason: unknown = undefined;
  readonly #listeners = new Set<() => void>();

  static abort(reason: unknown = ABORTED): Signal {
    const signal = new Signal();
    signal.end(reason);
    return signal;
  }

  static any(signals: readonly Signal[]): Signal {
    const any = new Signal();
    for (const signal of signals) {
      if (signal.aborted) any.end(signal.reason);
      else signal.addEventListener("abort", () => any.end(signal.reason));
    }
    return any;
  }

  addEventListener(_: "abort", listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  end(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}

class Controller {
  readonly signal = new Signal();

  abort(reason: unknown = ABORTED): void {
    this.signal.end(reason);
  }
}

export const SIGNALS = { AbortController: Controller, AbortSignal: Signal } as unknown as Pick<
  typeof globalThis,
  "AbortController" | "AbortSignal"
>;
