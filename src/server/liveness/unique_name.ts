/**
 * A worker's unique name: at most one live worker has it, and it becomes free when that worker deregisters or is offline.
 *
 * Only its heartbeat tells whether the holder lives: a process number means nothing in another container, and two may share
 * a hostname. A start waits until the holder is offline, and fails as soon as the holder sends a heartbeat. After an outage
 * of the store or of the machine, the holder gets a whole heartbeat timeout for that, as it does before its jobs are rescued.
 * A supervisor knows that a process has ended: its successor doesn't wait, see {@linkcode UniqueNameOptions.predecessor}.
 *
 * If the process dies while it waits, the name stays as it was.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { ServerStore } from "../../store/port/store.ts";
import type { NameHolder } from "../../store/port/workers.ts";
import type { Component } from "../component.ts";

/** Another worker has the name. The message is one line for people. */
export class NameTaken extends Error {
  override readonly name = "NameTaken";

  constructor(taken: string) {
    super(`A live worker has the name "${taken}"; choose another with --name, or stop that one (jobs stop ${taken})`);
  }
}

export interface UniqueNameOptions {
  readonly store: ServerStore;
  /** The name; undefined: none. */
  readonly name: string | undefined;
  /** The ID of this worker. It must send heartbeats from before the start. */
  readonly worker: string;
  /** The ID of a worker that is known to have ended: its name is free. */
  readonly predecessor?: string | undefined;
  /** How the predecessor ended, if it died. */
  readonly predecessorEnded?: string | undefined;
  /** The heartbeat timeout: the wait is not much longer. */
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly log: Pick<Log, "warn" | "debug">;
}

/** A claim has no time limit in practice: it ends with its worker. */
const CLAIM_MS = 3_650 * 86_400_000;
const POLL_INTERVAL_MS = 250;

export class UniqueName implements Component {
  readonly name = "name";
  readonly #options: UniqueNameOptions;
  readonly #stop = new AbortController();

  constructor(options: UniqueNameOptions) {
    this.#options = options;
  }

  /**
   * Claims the name; waits while its holder may be offline.
   *
   * @throws {NameTaken} if the holder sends a heartbeat, or another worker was first
   * @throws {StoreError}
   */
  async start(): Promise<void> {
    const { store: { workers }, name, worker, predecessor } = this.#options;
    await this.#noteDeath();
    if (name === undefined) return;
    const key = `name:${name}`;
    if (predecessor !== undefined) await workers.claim(key, predecessor, 0);
    const holder = (await workers.claim(key, worker, CLAIM_MS))!;
    if (holder.worker !== worker) await this.#waitAndClaim(name, key, holder);
  }

  stop(): void {
    this.#stop.abort();
  }

  async #waitAndClaim(name: string, key: string, first: NameHolder): Promise<void> {
    const { store: { workers }, worker, ttlMs, clock, log } = this.#options;
    const { signal } = this.#stop;
    log.warn("Waiting until the worker that has the name is offline", {
      wanted: name,
      holder: first.worker,
      secondsAtMost: Math.ceil(ttlMs / 1_000),
    });
    while (!signal.aborted) {
      await clock.sleep(POLL_INTERVAL_MS, signal);
      if (signal.aborted) return;
      const holder = (await workers.claim(key, worker, CLAIM_MS))!;
      if (holder.worker === worker) return;
      // Without a current heartbeat the holder may still be alive: only a new heartbeat proves it.
      if (holder.worker !== first.worker || holder.heartbeatUntil !== first.heartbeatUntil) throw new NameTaken(name);
    }
  }

  /** Tells the store how the predecessor died: the errors of jobs that keep killing their workers say so. */
  async #noteDeath(): Promise<void> {
    const { store, predecessor, predecessorEnded, log } = this.#options;
    if (predecessor === undefined || predecessorEnded === undefined) return;
    await store.workers.note(predecessor, { ended: predecessorEnded }).catch((error) =>
      log.debug("Could not note how the predecessor ended", { error: error.message })
    );
  }
}
