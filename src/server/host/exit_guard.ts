/**
 * The exit guard: ends the process some seconds after its worker has stopped, whatever still runs. By then every job is
 * stored, released or left to the rescuer. Closing can still hang: a connection, a handler that spins, a thread.
 *
 *  1. While the event loop turns, {@linkcode ExitGuard.expired} resolves, and `main.ts` exits.
 *  2. When that hangs too, a timer of the kernel calls libc's `_exit`. It fires even if the event loop doesn't turn, and,
 *     unlike a signal's default action, in process 1 of a container.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import { LIBC } from "./exit_now.ts";

/** How long closing may take after the worker has stopped. */
const CLOSE_MS = 1_000;
/** From then on the kernel ends the process. Its exit code is {@linkcode KILLED_CODE}. */
const KILL_MS = 2_000;

/** `_exit` is called with the number of the timer's signal, `SIGALRM`. */
export const KILLED_CODE = 14;
const SIGALRM = 14;
const ITIMER_REAL = 0;

export interface ExitGuardOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds from {@linkcode ExitGuard.arm} until the guard exits; default 1 second. */
  readonly closeMs?: number;
  /** Milliseconds from {@linkcode ExitGuard.arm} until the kernel ends the process; default 2 seconds. */
  readonly killMs?: number;
}

export class ExitGuard {
  readonly #options: ExitGuardOptions;
  readonly #expired = Promise.withResolvers<number>();

  constructor(options: ExitGuardOptions) {
    this.#options = options;
  }

  /** Resolves with the exit code when closing takes too long. */
  get expired(): Promise<number> {
    return this.#expired.promise;
  }

  /**
   * Starts the timers. Call it only in a process that ends anyway.
   *
   * @param code the exit code if closing takes too long
   */
  arm(code: number): void {
    const { clock, log, closeMs = CLOSE_MS, killMs = KILL_MS } = this.#options;
    try {
      exitFromKernel(killMs);
    } catch (error) {
      log.debug("Exit guard without a kernel timer", { error: (error as Error).message });
    }
    void clock.sleep(closeMs).then(() => {
      log.error("Still open after the worker has stopped, exiting", { seconds: closeMs / 1_000 });
      this.#expired.resolve(code);
    });
  }
}

/**
 * Has the kernel end this process.
 *
 * @throws {Error} where the C library has no such functions
 */
function exitFromKernel(ms: number): void {
  // Not closed: the handler must stay loaded.
  const { symbols } = Deno.dlopen(LIBC, {
    dlsym: { parameters: ["pointer", "buffer"], result: "pointer" },
    signal: { parameters: ["i32", "pointer"], result: "pointer" },
    setitimer: { parameters: ["i32", "buffer", "pointer"], result: "i32" },
  });
  const exit = symbols.dlsym(null, new TextEncoder().encode("_exit\0"));
  if (exit === null) throw new Error("no _exit");
  symbols.signal(SIGALRM, exit);
  // `struct itimerval`: the interval (none), then the time left, each in seconds and microseconds.
  const timer = new BigInt64Array([0n, 0n, BigInt(Math.floor(ms / 1_000)), BigInt(ms % 1_000) * 1_000n]);
  symbols.setitimer(ITIMER_REAL, timer, null);
}
