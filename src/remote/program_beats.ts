/**
 * The heartbeats of a worker whose program is heard over HTTP: they pass to the store only while the program is heard, so that they expire
 * when it dies or is cut off.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log/log.ts";
import type { StrayLeases } from "./stray_leases.ts";

/** Heartbeats of a program that has jobs pass after this share of the interval: its next one may be late. */
const BUSY_SHARE = 0.75;
/**
 * Commands are collected while a program with jobs isn't this much later than its next heartbeat. It leaves a gateway whose reply is 5 s late:
 * its next gateway must get the commands from then on.
 */
const MAX_LATE_MS = 4_000;

export interface ProgramBeatsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly worker: string;
  readonly heartbeatMs: number;
  readonly timeoutMs: number;
  readonly launcher: { beat(): Promise<void>; receive(): Promise<void> };
  /** Returns undefined if no other gateway had the worker. */
  readonly strays: () => StrayLeases | undefined;
  /** Whether the program has jobs. */
  readonly isBusy: () => boolean;
}

export class ProgramBeats {
  readonly #options: ProgramBeatsOptions;
  #beatAt: number;
  #heardAt: number;
  #isStopped = false;
  /** The heartbeat, or the call for commands, that the store hasn't answered. */
  #beating: Promise<void> | undefined;
  #receiving: Promise<void> | undefined;

  constructor(options: ProgramBeatsOptions) {
    this.#options = options;
    this.#beatAt = this.#heardAt = options.clock.monotonic();
  }

  /** Milliseconds since the program was last heard. */
  get silentMs(): number {
    return this.#options.clock.monotonic() - this.#heardAt;
  }

  /** The program was heard now. */
  heard(): void {
    this.#heardAt = this.#options.clock.monotonic();
  }

  /** The first heartbeat has been sent. */
  begin(): void {
    this.#beatAt = this.#options.clock.monotonic();
  }

  /** Doesn't count a time during which this process couldn't hear the program. */
  excuse(ms: number): void {
    this.#heardAt += ms;
  }

  /** Sends no more heartbeats. */
  stop(): void {
    this.#isStopped = true;
  }

  /**
   * Sends the heartbeat, if the program was heard since the last one, and collects commands; both as often as is due. The heartbeats of one
   * turn share a request. While the store doesn't answer, nothing more is asked.
   */
  async tick(): Promise<void> {
    if (this.#isStopped) return;
    const { log, worker, heartbeatMs, timeoutMs, isBusy } = this.#options;
    try {
      if (this.#isDue) await this.#beat();
      // A silent program may continue at another gateway, for which the commands are then.
      else if (isBusy() && this.silentMs < Math.min(timeoutMs / 2, heartbeatMs + MAX_LATE_MS)) await this.#receive();
    } catch (error) {
      log.warn("Heartbeat failed", { worker, error: (error as Error).message });
    }
  }

  /** Sends the heartbeat if it is due, and resolves when the store has accepted it. */
  async beat(): Promise<void> {
    if (this.#isDue) await this.#beat();
  }

  /** Whether a heartbeat is due, and the program was heard since the last one. */
  get #isDue(): boolean {
    const { clock, heartbeatMs, isBusy } = this.#options;
    const intervalMs = heartbeatMs * (isBusy() ? BUSY_SHARE : 1);
    return !this.#isStopped && clock.monotonic() - this.#beatAt >= intervalMs && this.#heardAt > this.#beatAt;
  }

  #beat(): Promise<void> {
    return this.#beating ??= this.#sendBeat().finally(() => this.#beating = undefined);
  }

  async #sendBeat(): Promise<void> {
    const { clock, launcher, strays, log, worker } = this.#options;
    const before = this.#beatAt;
    this.#beatAt = clock.monotonic();
    try {
      // A quiet program's requests send each heartbeat: the commands come with it.
      await Promise.all([launcher.beat(), this.#receive()]);
    } catch (error) {
      this.#beatAt = before;
      throw error;
    }
    const count = await strays()?.look() ?? 0;
    if (count > 0) log.info("Returned jobs that the program's last gateway took for it", { worker, count });
  }

  #receive(): Promise<void> {
    return this.#receiving ??= this.#options.launcher.receive().finally(() => this.#receiving = undefined);
  }
}
