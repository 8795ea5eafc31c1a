/**
 * The orphan guard: kills a process of `jobs run --processes` that outlives its parent because a handler blocks the event
 * loop. An orderly stop needs the loop, and nothing in JavaScript can interrupt a handler that doesn't yield. It runs in the
 * heartbeat's thread, which does.
 *
 * Not `PR_SET_PDEATHSIG`, as in `parent_death.ts`: the kernel would send it at once, in place of the orderly stop of all
 * those that can.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** How often to look whether the parent lives. */
const POLL_INTERVAL_MS = 1_000;

/** Options of {@linkcode OrphanGuard}. */
export interface OrphanGuardOptions {
  /** The process number of the parent. */
  readonly parent: number;
  /** How long the event loop may be blocked once the parent has ended: as long as a stop waits for running jobs. */
  readonly timeoutMs: number;
  /** Pings the event loop, which replies through {@linkcode OrphanGuard.replied}. */
  readonly ping: () => void;
  readonly clock: Clock;
  /** Ends the guard. */
  readonly signal: AbortSignal;
  /** The process number of the present parent. Default: the system's. */
  readonly parentNow?: () => number;
  /** Ends this process. Default: `kill -9`. */
  readonly kill?: () => void;
}

/** Watches the process that it runs in. */
export class OrphanGuard {
  readonly #options: OrphanGuardOptions;
  #repliedAt = -Infinity;

  constructor(options: OrphanGuardOptions) {
    this.#options = options;
  }

  /** Records that the event loop has replied. */
  replied(): void {
    this.#repliedAt = this.#options.clock.monotonic();
  }

  /** Watches until the signal aborts. */
  async run(): Promise<void> {
    const { parent, timeoutMs, ping, clock, signal, parentNow = () => Deno.ppid, kill = killSelf } = this.#options;
    let orphanedAt: number | undefined;
    for (;;) {
      await clock.sleep(POLL_INTERVAL_MS, signal);
      if (signal.aborted) return;
      if (parentNow() === parent) continue;
      const now = clock.monotonic();
      orphanedAt ??= now;
      if (now - Math.max(orphanedAt, this.#repliedAt) >= timeoutMs) return kill();
      ping();
    }
  }
}

function killSelf(): void {
  Deno.kill(Deno.pid, "SIGKILL");
}
