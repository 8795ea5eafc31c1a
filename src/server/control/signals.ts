/**
 * Signals: a table of their meanings, and the only place that listens for them. A listener only notes the request; one loop
 * (`control.ts`) acts on it, so that two signals never act at once. The heartbeat's thread listens to the same table, for the time in
 * which that loop is blocked (`liveness/heartbeat_thread.ts`).
 *
 * @module
 */

export type Verb = "stop" | "quiet" | "resume" | "reopen" | "reload" | "dump";

/** The requests by signal. Equal signals close together may arrive as one. HUP stops a process whose terminal is closed. */
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

/** A request to this process. */
export interface Asked {
  readonly verb: Verb;
  /** Where it comes from: a signal's name, `command`, `program`. */
  readonly by: string;
  /** Sends the reply; absent if none is expected. */
  readonly reply?: (text: string) => Promise<void>;
}

/** Requests that wait to be acted on, in order. For one reader. */
export class Inbox {
  readonly #asked: Asked[] = [];
  readonly #firstStop = Promise.withResolvers<Asked>();
  #reader: ((asked: Asked) => void) | undefined;

  /** Resolves with the first stop request, which stays in here. For a start (`startup_steps.ts`), during which the inbox has no reader. */
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

  next(): Promise<Asked> {
    const first = this.#asked.shift();
    if (first) return Promise.resolve(first);
    return new Promise((resolve) => this.#reader = resolve);
  }
}

/**
 * Ignores the signals that end or stop a process: an isolated process ends when its parent ends it, even if an operator or
 * systemd signals the whole process group.
 */
export function ignoreSignals(): void {
  for (const signal of Object.keys(SIGNALS) as Deno.Signal[]) Deno.addSignalListener(signal, () => {});
}

/** Puts the requests of signals into the inbox, until disposed. */
export function listenToSignals(inbox: Inbox): Disposable {
  return onRequests((asked) => inbox.put(asked), hadTerminal());
}

/**
 * Calls a function with what each signal requests, until disposed.
 *
 * @param hadTerminal whether the process has started in a terminal: see {@linkcode hadTerminal}
 */
export function onRequests(ask: (asked: Pick<Asked, "verb" | "by">) => void, hadTerminal: boolean): Disposable {
  const table = Object.entries(SIGNALS) as [Deno.Signal, Verb][];
  return onSignals(Object.fromEntries(table.map(([signal, verb]) => [signal, () => {
    // A worker without its terminal would fail every job that prints.
    const isHangup = signal === "SIGHUP" && hadTerminal && !hasTerminal();
    ask({ verb: isHangup ? "stop" : verb, by: isHangup ? "SIGHUP: its terminal was closed" : signal });
  }])));
}

/** Calls a function at each signal, until disposed. For programs other than workers, for example `cli/top/`. */
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
 * Returns a signal that aborts at INT or TERM, so that a long command can stop between two steps. A second INT or TERM has its
 * default effect. Until disposed.
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

/** HUP in the bit masks of `/proc/self/status`. */
const HUP_BIT = 1n;

let startedInTerminal: boolean | undefined;

/**
 * Returns whether this process has started in a controlling terminal. The kernel and the shell send HUP when that is closed, and an operator
 * sends HUP to have the configuration read again: the terminal tells which. False under `nohup`, which ignores HUP: the process is to outlive
 * its terminal. The first call counts, before anything listens for HUP; a thread gets the answer of the main thread.
 */
export function hadTerminal(): boolean {
  return startedInTerminal ??= hasTerminal() && !isHangupIgnored();
}

function hasTerminal(): boolean {
  try {
    Deno.openSync("/dev/tty").close();
    return true;
  } catch {
    return false;
  }
}

function isHangupIgnored(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(Deno.readTextFileSync("/proc/self/status"))?.[1] ?? "0";
    return (BigInt(`0x${mask}`) & HUP_BIT) !== 0n;
  } catch {
    return false;
  }
}
