/**
 * A connection to Redis that reconnects. All other parts of the store use it.
 *
 *  1. It connects at the first call, and again as soon as the connection is lost, with jittered backoff.
 *  2. A call without a connection waits for one, up to `waitMs`. A call whose reply was lost is sent again within
 *     `waitMs` if it is repeatable. A call that Redis can't run yet (busy, moving its data) is sent again later.
 *  3. A server counts as reached when it is usable: it has loaded its data and, once it has rejected a write as a replica
 *     does, when it accepts writes.
 *  4. It logs once that the connection is lost, and once that it is back and how long it was lost.
 *
 * Its waits use the clock of the process: a test that moves the store's time must not affect the network.
 *
 * @module
 */
import { type Clock, systemClock } from "../../../clock.ts";
import { StoreError } from "../../port/errors.ts";
import { backoff, MAX_BACKOFF_MS, Pauses } from "./backoff.ts";
import type { CallOptions, Line, ReconnectingClientOptions } from "./client_options.ts";
import type { Arg } from "./encode.ts";
import { ConnectionLost, isNotMaster, isPermanent, isTransient, reason, RedisError, toStoreError } from "./errors.ts";
import type { Args } from "./script_head.ts";
import type { Script } from "./scripts.ts";

/** A write without an effect. */
const WRITE_PROBE = ["UNLINK", "jobs:none"];
/** Longer than the longest pause between two attempts: enough for one more. */
const ONE_ATTEMPT_MS = 1.5 * MAX_BACKOFF_MS;
/** Longest wait for a pending attempt to connect when closing: a network that drops all packets never replies. */
const CLOSE_WAIT_MS = 500;

/** A connection that reconnects. */
export class ReconnectingClient {
  /** The clock of this process, for its waits. The store's time is the server's. */
  readonly clock: Clock;
  readonly #options: ReconnectingClientOptions;
  readonly #end = new AbortController();
  #connection: Line | undefined;
  #connecting: Promise<void> | undefined;
  /** Called after each attempt to connect, successful or not. */
  #waiting: (() => void)[] = [];
  #failure: unknown;
  /** When the connection was lost, or the first attempt to connect failed; undefined while connected. */
  #downSince: number | undefined;
  #losses = 0;
  /** Whether the server rejected a write as a replica does. Reads alone are possible on a replica, until then. */
  #needsMaster = false;
  readonly #pauses: Pauses;
  #channels = new Map<string, (message: string) => void>();

  constructor(options: ReconnectingClientOptions) {
    this.#options = options;
    this.clock = options.clock ?? systemClock;
    this.#pauses = new Pauses(this.clock, options.maxBackoffMs);
  }

  /** The address without its password. */
  get shown(): string {
    return this.#options.shown;
  }

  get closed(): boolean {
    return this.#end.signal.aborted;
  }

  /** Whether a connection exists now. */
  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** How many times the connection was lost. */
  get losses(): number {
    return this.#losses;
  }

  /**
   * Sends a command and resolves with its reply.
   *
   * @throws {StoreError} if Redis rejects the command, or is unreachable for too long
   */
  async call(args: readonly Arg[], options: CallOptions = {}): Promise<unknown> {
    try {
      return await this.#send(args, options);
    } catch (error) {
      throw this.#storeError(error);
    }
  }

  /**
   * Runs a script, and loads it first if the server doesn't have it.
   *
   * @throws {StoreError} if Redis rejects the script, or is unreachable for too long
   */
  async run(
    script: Script,
    args: Args,
    options: CallOptions = {},
  ): Promise<unknown> {
    try {
      return await this.#send(script.command(args), options);
    } catch (error) {
      if (!(error instanceof RedisError && error.word === "NOSCRIPT")) throw this.#storeError(error);
    }
    return await this.call(script.command(args, "text"), options);
  }

  /**
   * Subscribes to a channel, and again after each reconnection. Messages published in between are missed.
   *
   * @throws {StoreError} if Redis rejects the subscription, or is unreachable for too long; the subscription is dropped
   */
  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    this.#channels.set(channel, listener);
    const deadline = this.clock.monotonic() + this.#maxWaitMs;
    for (;;) {
      try {
        const connection = await this.#connected(deadline);
        await connection.subscribe(channel, listener);
        return;
      } catch (error) {
        if (error instanceof ConnectionLost && !this.closed && this.clock.monotonic() < deadline) continue;
        this.#channels.delete(channel);
        throw this.#storeError(error);
      }
    }
  }

  /** Closes the current connection. The client reconnects. */
  reset(why: string): void {
    this.#connection?.destroy(new Error(why));
  }

  /** Ends the pause before the next attempt to connect, if there is no connection. */
  retryNow(): void {
    this.#pauses.wake();
  }

  /** Closes the client. Pending calls fail. Waits {@linkcode CLOSE_WAIT_MS} at most for a pending attempt to connect. */
  async close(): Promise<void> {
    this.#end.abort();
    this.#connection?.destroy();
    this.#connection = undefined;
    this.#wake();
    this.#options.onClose?.();
    if (!this.#connecting) return;
    const done = new AbortController();
    await Promise.race([this.#connecting, this.clock.sleep(CLOSE_WAIT_MS, done.signal)]);
    done.abort();
  }

  async #send(args: readonly Arg[], { repeatable = true, ...how }: CallOptions): Promise<unknown> {
    const deadline = this.clock.monotonic() + this.#maxWaitMs;
    for (let failures = 0;; failures++) {
      const connection = this.#connection ?? await this.#connected(deadline);
      try {
        const reply = await connection.send(args, how);
        this.#pauses.reset();
        return reply;
      } catch (error) {
        if (isTransient(error)) {
          if (isNotMaster(error)) {
            // After a failover the same address leads to the new master.
            this.#needsMaster = true;
            connection.destroy(error as RedisError);
          }
          const pause = backoff(failures);
          if (this.clock.monotonic() + pause > deadline) throw error;
          await this.clock.sleep(pause, this.#end.signal);
        } else if (!(error instanceof ConnectionLost) || this.closed) {
          throw error;
        } else if (error.wasSent) {
          // The command itself may break the connection: its reply is too large for a limit of the server or of a proxy.
          // Resent without limit, it would break all other commands, too.
          const pause = failures === 0 ? 0 : backoff(failures - 1);
          if (!repeatable || this.clock.monotonic() + pause > deadline) throw error;
          await this.clock.sleep(pause, this.#end.signal);
        }
      }
    }
  }

  /** Longest wait of a call. In an outage that has already lasted longer, the call only waits for one more attempt. */
  get #maxWaitMs(): number {
    const { waitMs } = this.#options;
    const isLongOutage = this.#downSince !== undefined && this.clock.monotonic() - this.#downSince >= waitMs;
    return isLongOutage ? Math.min(waitMs, ONE_ATTEMPT_MS) : waitMs;
  }

  /** Resolves with the connection as soon as it is established. */
  async #connected(deadline: number): Promise<Line> {
    const done = new AbortController();
    const timer = this.clock.sleep(deadline - this.clock.monotonic(), done.signal);
    try {
      let isLate = false;
      for (;;) {
        if (this.closed) throw new ConnectionLost("the store is closed");
        if (this.#connection) return this.#connection;
        if (isLate) throw this.#failure ?? new ConnectionLost("no reply");
        this.#connect();
        const attempt = new Promise<void>((resolve) => this.#waiting.push(resolve));
        await Promise.race([attempt, timer.then(() => isLate = true)]);
        if (!this.#connection && isPermanent(this.#failure)) throw this.#failure;
        if (!this.#connection && this.#failure instanceof StoreError && !this.#failure.transient) throw this.#failure;
      }
    } finally {
      done.abort();
    }
  }

  #connect(): void {
    this.#connecting ??= this.#connectWithRetries().finally(() => this.#connecting = undefined);
  }

  async #connectWithRetries(): Promise<void> {
    while (!this.closed) {
      let connection: Line | undefined;
      await this.#pauses.wait(this.#end.signal);
      try {
        connection = await this.#options.connect(this.#end.signal, this.#needsMaster ? WRITE_PROBE : undefined);
        await this.#subscribe(connection);
        if (this.closed) return connection.destroy();
        return this.#use(connection);
      } catch (error) {
        connection?.destroy();
        this.#failure = error;
        this.#downSince ??= this.clock.monotonic();
        this.#pauses.fail();
        this.#wake();
      }
    }
  }

  /** Renews the subscriptions. A channel that the user may not read is dropped; the connection still serves the others. */
  async #subscribe(connection: Line): Promise<void> {
    for (const [channel, listener] of this.#channels) {
      try {
        await connection.subscribe(channel, listener);
      } catch (error) {
        if (!isPermanent(error)) throw error;
        this.#channels.delete(channel);
      }
    }
  }

  #use(connection: Line): void {
    if (this.#losses > 0) this.#logBack();
    this.#connection = connection;
    this.#downSince = undefined;
    this.#failure = undefined;
    // Until it has served a call: a server that closes each connection gets growing pauses, too.
    this.#pauses.fail();
    void connection.lost.then((why) => {
      if (this.#connection !== connection) return;
      this.#connection = undefined;
      this.#losses++;
      this.#downSince = this.clock.monotonic();
      this.#failure = new ConnectionLost(reason(why));
      if (this.closed) return;
      this.#options.log?.("warn", `Connection to Redis at "${this.shown}" lost, reconnecting: ${reason(why)}`);
      this.#options.onLost?.();
      this.#connect();
    });
    if (this.#options.pingMs !== undefined) void this.#ping(connection, this.#options.pingMs);
    this.#wake();
  }

  /** Pings until the connection is lost: without a pending command, a dead peer isn't noticed. */
  async #ping(connection: Line, everyMs: number): Promise<void> {
    const lost = new AbortController();
    void connection.lost.then(() => lost.abort());
    while (this.#connection === connection) {
      await this.clock.sleep(everyMs, lost.signal);
      if (this.#connection === connection) {
        await connection.send(["PING"]).then(() => this.#pauses.reset(), () => {});
      }
    }
  }

  #logBack(): void {
    const now = this.clock.monotonic();
    const seconds = (now - (this.#downSince ?? now)) / 1000;
    this.#options.log?.("info", `Connection to Redis at "${this.shown}" is back after ${seconds.toFixed(1)} s`);
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  #storeError(error: unknown): StoreError {
    return toStoreError(error, this.shown);
  }
}
