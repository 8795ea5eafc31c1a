/** A signal that counts its listeners, for waits that must leave none behind. @module */

/** A signal, and the number of its listeners. */
export interface CountingSignal {
  readonly signal: AbortSignal;
  /** How many are registered and not removed, also those that have been called. */
  readonly listeners: number;
}

/** Creates a signal that never aborts. */
export function countingSignal(): CountingSignal {
  const { signal } = new AbortController();
  const listeners = new Set<unknown>();
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  return {
    signal: Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => {
        listeners.add(args[1]);
        add(...args);
      },
      removeEventListener: (...args: Parameters<typeof remove>) => {
        listeners.delete(args[1]);
        remove(...args);
      },
    }),
    get listeners() {
      return listeners.size;
    },
  };
}
