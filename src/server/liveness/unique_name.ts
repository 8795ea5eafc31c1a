/**
 * A worker's unique name: at most one live worker has it, and it becomes free when that worker deregisters or is offline.
 *
 * Only its heartbeat tells whether the holder lives: a process number means nothing in another container, and two may share
 * a hostname. A start waits until the holder is offline, and fails as soon as the holder sends a heartbeat. After an outage
 * of the store or of the machine, the holder gets a whole heartbeat timeout for that, as it does before its jobs are rescued.
 * The store may lose the claim: a server that crashed, or a replica that lagged, lacks its latest writes. Then another worker finds the
 * name free. So the holder claims it again with the first heartbeat after each loss of a connection, and after a lapse, which tells it
 * that another one may have the name.
 *
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
import type { HeartbeatListener } from "./heartbeat.ts";
import { type Component, SHUTDOWN_HOOK_SHARE, type ShutdownBudget } from "../component.ts";

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

/** A claim outlasts a freeze or an outage of its worker, and then expires: the name of a killed worker that comes once doesn't stay. */
const CLAIM_MS = 7 * 86_400_000;
const RENEW_INTERVAL_MS = 3_600_000;
const POLL_INTERVAL_MS = 250;

export class UniqueName implements Component, HeartbeatListener {
  readonly name = "name";
  readonly #options: UniqueNameOptions;
  readonly #stop = new AbortController();
  #isHeld = false;
  /** The losses of connections that the last claim knew of. */
  #losses = 0;
  /** The heartbeat has lapsed since the last claim. */
  #hasLapsed = false;
  #renewing: Promise<void> | undefined;

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
    const key = keyOf(name);
    if (predecessor !== undefined) await workers.claim(key, predecessor, 0);
    const holder = await this.#claim(key);
    if (holder.worker !== worker) await this.#waitAndClaim(name, key, holder);
    if (this.#stop.signal.aborted) return;
    this.#isHeld = true;
    void this.#renewHourly();
  }

  /** Renews the claim if the store may have lost it, or may have given the name to another worker. */
  beat({ lapsed }: { readonly lapsed: boolean }): void {
    if (!this.#isHeld || this.#stop.signal.aborted) return;
    this.#hasLapsed ||= lapsed;
    if (this.#hasLapsed || this.#losses !== this.#options.store.workers.losses) void this.#renew();
  }

  /** Releases the name. All jobs have ended by then, and the worker deregisters next. */
  async stop(budget: ShutdownBudget): Promise<void> {
    this.#stop.abort();
    if (this.#renewing !== undefined) await budget.within(this.#renewing, SHUTDOWN_HOOK_SHARE);
    const { store: { workers }, name, worker } = this.#options;
    // The rest of the budget is for that.
    if (this.#isHeld) await budget.within(workers.claim(keyOf(name!), worker, 0), SHUTDOWN_HOOK_SHARE);
  }

  async #waitAndClaim(name: string, key: string, first: NameHolder): Promise<void> {
    const { worker, ttlMs, clock, log } = this.#options;
    const { signal } = this.#stop;
    log.warn("Waiting until the worker that has the name is offline", {
      wanted: name,
      holder: first.worker,
      secondsAtMost: Math.ceil(ttlMs / 1_000),
    });
    while (!signal.aborted) {
      await clock.sleep(POLL_INTERVAL_MS, signal);
      if (signal.aborted) return;
      const holder = await this.#claim(key);
      if (holder.worker === worker) return;
      // Without a current heartbeat the holder may still be alive: only a new heartbeat proves it.
      if (holder.worker !== first.worker || holder.heartbeatUntil !== first.heartbeatUntil) throw new NameTaken(name);
    }
  }

  /** Claims the name, and returns its holder. */
  async #claim(key: string): Promise<NameHolder> {
    const { store: { workers }, worker } = this.#options;
    const { losses } = workers;
    const hadLapsed = this.#hasLapsed;
    this.#hasLapsed = false;
    try {
      const holder = (await workers.claim(key, worker, CLAIM_MS))!;
      this.#losses = losses;
      return holder;
    } catch (error) {
      this.#hasLapsed ||= hadLapsed;
      throw error;
    }
  }

  /** Renews the claim until the stop. */
  async #renewHourly(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    for (;;) {
      await clock.sleep(RENEW_INTERVAL_MS, signal);
      if (signal.aborted) return;
      await this.#renew();
    }
  }

  /** Renews the claim. Never rejects. */
  #renew(): Promise<void> {
    return this.#renewing ??= this.#renewNow().finally(() => this.#renewing = undefined);
  }

  async #renewNow(): Promise<void> {
    const { worker, name, log } = this.#options;
    const holder = await this.#claim(keyOf(name!)).catch((error: Error) => {
      log.debug("Could not renew the claim of the name", { wanted: name, error: error.message });
    });
    if (holder && holder.worker !== worker) {
      log.warn("Another worker has the name: this one was offline", { wanted: name, holder: holder.worker });
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

function keyOf(name: string): string {
  return `name:${name}`;
}
