/**
 * Signals: a table of what each means, and the only place that listens for them. A listener notes the name and nothing
 * more; one loop (`control.ts`) acts, so that two signals never act at once.
 *
 * @module
 */

/** What a signal asks for. */
export type Verb = "stop" | "quiet" | "resume" | "reopen" | "reload" | "dump";

/** The table. Equal signals close together may arrive as one. */
export const SIGNALS: Readonly<Partial<Record<Deno.Signal, Verb>>> = {
  SIGTERM: "stop",
  SIGINT: "stop",
  SIGTSTP: "quiet",
  // In development, `deno run` itself also opens its inspector on USR1 (since 2.9.2); TSTP is the safe one there.
  SIGUSR1: "quiet",
  SIGCONT: "resume",
  SIGUSR2: "reopen",
  SIGHUP: "reload",
  SIGTTIN: "dump",
};

/** Something asked of this process. */
export interface Asked {
  readonly verb: Verb;
  /** Who asked: a signal's name, or `command`. */
  readonly by: string;
  /** The answer goes here, when one is wanted. */
  readonly reply?: (text: string) => Promise<void>;
}

/** What was asked and not yet acted on, in order. For one reader. */
export class Inbox {
  readonly #asked: Asked[] = [];
  readonly #firstStop = Promise.withResolvers<Asked>();
  #reader: ((asked: Asked) => void) | undefined;

  /** Resolves with the first stop that is asked for, which stays in here. For a start (`startup_steps.ts`): nobody reads yet. */
  get stopAsked(): Promise<Asked> {
    return this.#firstStop.promise;
  }

  put(asked: Asked): void {
    if (asked.verb === "stop") this.#firstStop.resolve(asked);
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader) reader(asked);
    else this.#asked.push(asked);
  }

  /** The next one; waits for it. */
  next(): Promise<Asked> {
    const first = this.#asked.shift();
    if (first) return Promise.resolve(first);
    return new Promise((resolve) => this.#reader = resolve);
  }
}

/**
 * Does nothing on the signals that end or stop a process: a horse ends when its parent says so, also where an operator
 * or systemd signals everything there is.
 */
export function ignoreSignals(): void {
  for (const signal of Object.keys(SIGNALS) as Deno.Signal[]) Deno.addSignalListener(signal, () => {});
}

/**
 * Listens to the table's signals and puts them into the inbox, until disposed.
 */
export function listenToSignals(inbox: Inbox): Disposable {
  const table = Object.entries(SIGNALS) as [Deno.Signal, Verb][];
  return onSignals(Object.fromEntries(table.map(([signal, verb]) => [signal, () => inbox.put({ verb, by: signal })])));
}

/** Calls what each signal names when it comes, until disposed. For what is no server: a screen (`cli/top/`). */
export function onSignals(acts: Readonly<Partial<Record<Deno.Signal, () => void>>>): Disposable {
  const listeners = Object.entries(acts) as [Deno.Signal, () => void][];
  for (const [signal, act] of listeners) Deno.addSignalListener(signal, act);
  return {
    [Symbol.dispose]() {
      for (const [signal, act] of listeners) Deno.removeSignalListener(signal, act);
    },
  };
}

/**
 * For a command that works through something: aborts when it is asked to end, by INT or TERM, so that it can stop between
 * two steps. A second time, the signal does what it always does. Until disposed.
 */
export function untilStopped(): Disposable & { readonly signal: AbortSignal } {
  const stop = new AbortController();
  const signals: Deno.Signal[] = ["SIGINT", "SIGTERM"];
  let listening = true;
  const end = () => {
    if (listening) { for (const signal of signals) Deno.removeSignalListener(signal, onSignal); }
    listening = false;
  };
  const onSignal = () => {
    end();
    stop.abort();
  };
  for (const signal of signals) Deno.addSignalListener(signal, onSignal);
  return { signal: stop.signal, [Symbol.dispose]: end };
}
