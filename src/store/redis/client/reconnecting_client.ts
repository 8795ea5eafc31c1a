/**
 * A connection that comes back: the way to Redis for everything else here.
 *
 *  1. It connects when first asked, and again as soon as the connection breaks, with jittered backoff.
 *  2. A call that finds no connection waits for one, up to `waitMs`; one that was cut off is sent again, up to `waitMs`, if
 *     that does no harm; one that Redis cannot take just now (loading, a replica after a failover) is sent again later.
 *  3. It says once that the connection is down, and once that it is up again and for how long it was down.
 *
 * Its waits run on the system's clock: what a test does to the store's time is not the network's.
 *
 * @module
 */
import { systemClock } from "../../../clock.ts";
import { StoreError } from "../../port/errors.ts";
import type { Arg, Connection } from "./connection.ts";
import { ConnectionLost, isLasting, isPassing, reason, RedisError, toStoreError } from "./errors.ts";
import type { Script } from "./scripts.ts";

/** What a link is made with. */
export interface ReconnectingClientOptions {
  /** Makes a new connection, unless it is given up. */
  readonly dial: (signal: AbortSignal) => Promise<Connection>;
  /** The address without its password. */
  readonly shown: string;
  /** How long a call waits for a connection in all. */
  readonly waitMs: number;
  /** Maximum pause between two attempts to connect, before jitter of up to a half; default 2,000. */
  readonly maxBackoffMs?: number;
  /** Sends a PING this often, for a connection that otherwise only receives. Default: never. */
  readonly pingMs?: number;
  /** Told when the connection is gone, and will be made anew. */
  readonly onLost?: () => void;
  /** Told when the link is closed for good. */
  readonly onClose?: () => void;
  /** Told of the connection going down and coming back. */
  readonly log?: (level: "info" | "warn" | "error", message: string) => void;
}

/** How one call is made. */
export interface CallOptions {
  /** Whether it may be sent again when the connection broke before its answer came; default true. */
  readonly repeatable?: boolean;
  /** Whether strings in the answer are Buffers; default false. */
  readonly bytes?: boolean;
}

const FIRST_BACKOFF_MS = 25;
const MAX_BACKOFF_MS = 2_000;
/** Longer than the longest pause between two attempts. */
const ANOTHER_ATTEMPT_MS = 1.5 * MAX_BACKOFF_MS;
/** Closing waits no longer for an attempt to connect: a network that swallows everything answers to nothing. */
const CLOSE_WAIT_MS = 500;

/** A connection that comes back. */
export class ReconnectingClient {
  readonly #options: ReconnectingClientOptions;
  readonly #end = new AbortController();
  #connection: Connection | undefined;
  #connecting: Promise<void> | undefined;
  /** Woken at every attempt to connect, successful or not. */
  #waiting: (() => void)[] = [];
  #failure: unknown;
  /** Since when there has been none, though one was wanted. */
  #downSince: number | undefined;
  #losses = 0;
  #channels = new Map<string, (message: string) => void>();

  constructor(options: ReconnectingClientOptions) {
    this.#options = options;
  }

  /** The address without its password. */
  get shown(): string {
    return this.#options.shown;
  }

  get closed(): boolean {
    return this.#end.signal.aborted;
  }

  /** Whether there is a connection now. */
  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** How often the connection was lost. */
  get losses(): number {
    return this.#losses;
  }

  /**
   * Sends a command and resolves with its answer.
   *
   * @throws {StoreError} when Redis refuses, or cannot be reached in time
   */
  async call(args: readonly Arg[], options: CallOptions = {}): Promise<unknown> {
    try {
      return await this.#send(args, options);
    } catch (error) {
      throw this.#storeError(error);
    }
  }

  /**
   * Runs a script, and loads it first if the server does not have it.
   *
   * @throws {StoreError} when Redis refuses, or cannot be reached in time
   */
  async run(
    script: Script,
    keys: readonly string[],
    args: readonly Arg[],
    options: CallOptions = {},
  ): Promise<unknown> {
    const rest = [`${keys.length}`, ...keys, ...args];
    try {
      return await this.#send(["EVALSHA", script.sha, ...rest], options);
    } catch (error) {
      if (!(error instanceof RedisError && error.word === "NOSCRIPT")) throw this.#storeError(error);
    }
    return await this.call(["EVAL", script.text, ...rest], options);
  }

  /**
   * Hears what is published on a channel, over all reconnections; what is said in between is missed.
   *
   * @throws {StoreError} when Redis refuses, or cannot be reached in time; then it is not tried again
   */
  async listen(channel: string, listener: (message: string) => void): Promise<void> {
    this.#channels.set(channel, listener);
    try {
      const connection = await this.#ready(systemClock.monotonic() + this.#patienceMs);
      await connection.subscribe(channel, listener);
    } catch (error) {
      this.#channels.delete(channel);
      throw this.#storeError(error);
    }
  }

  /** Cuts the connection, which is then made anew. */
  reset(why: string): void {
    this.#connection?.destroy(new Error(why));
  }

  /** Cuts the connection for good. Calls under way fail. Resolves when an attempt to connect is over too, or takes long. */
  async close(): Promise<void> {
    this.#end.abort();
    this.#connection?.destroy();
    this.#connection = undefined;
    this.#wake();
    this.#options.onClose?.();
    if (!this.#connecting) return;
    const over = new AbortController();
    await Promise.race([this.#connecting, systemClock.sleep(CLOSE_WAIT_MS, over.signal)]);
    over.abort();
  }

  async #send(args: readonly Arg[], { repeatable = true, bytes = false }: CallOptions): Promise<unknown> {
    const deadline = systemClock.monotonic() + this.#patienceMs;
    for (let failures = 0;; failures++) {
      const connection = this.#connection ?? await this.#ready(deadline);
      try {
        return await connection.send(args, bytes);
      } catch (error) {
        if (isPassing(error)) {
          // After a failover the address leads elsewhere: to the new master.
          if ((error as RedisError).word === "READONLY") connection.destroy(error as RedisError);
          const pause = backoff(failures);
          if (systemClock.monotonic() + pause > deadline) throw error;
          await systemClock.sleep(pause, this.#end.signal);
        } else if (!(error instanceof ConnectionLost) || this.closed) {
          throw error;
        } else if (error.underWay) {
          // The command itself may be what cuts the connection: its reply is too large for a limit of the server, or of
          // a proxy. Sent again without end, it would cut all other commands, too.
          const pause = failures === 0 ? 0 : backoff(failures - 1);
          if (!repeatable || systemClock.monotonic() + pause > deadline) throw error;
          await systemClock.sleep(pause, this.#end.signal);
        }
      }
    }
  }

  /** How long a call waits: in an outage that lasts longer than that already, only for another attempt. */
  get #patienceMs(): number {
    const { waitMs } = this.#options;
    const lasts = this.#downSince !== undefined && systemClock.monotonic() - this.#downSince >= waitMs;
    return lasts ? Math.min(waitMs, ANOTHER_ATTEMPT_MS) : waitMs;
  }

  /** The connection, as soon as there is one. */
  async #ready(deadline: number): Promise<Connection> {
    const patience = new AbortController();
    const timer = systemClock.sleep(deadline - systemClock.monotonic(), patience.signal);
    try {
      let late = false;
      for (;;) {
        if (this.closed) throw new ConnectionLost("the store is closed");
        if (this.#connection) return this.#connection;
        if (late) throw this.#failure ?? new ConnectionLost("it does not answer");
        this.#connect();
        const attempt = new Promise<void>((resolve) => this.#waiting.push(resolve));
        await Promise.race([attempt, timer.then(() => late = true)]);
        if (!this.#connection && isLasting(this.#failure)) throw this.#failure;
        if (!this.#connection && this.#failure instanceof StoreError && !this.#failure.transient) throw this.#failure;
      }
    } finally {
      patience.abort();
    }
  }

  #connect(): void {
    this.#connecting ??= this.#dial().finally(() => this.#connecting = undefined);
  }

  /** Tries until there is a connection. */
  async #dial(): Promise<void> {
    for (let failures = 0; !this.closed; failures++) {
      let connection: Connection | undefined;
      try {
        connection = await this.#options.dial(this.#end.signal);
        await this.#subscribe(connection);
        if (this.closed) return connection.destroy();
        return this.#use(connection);
      } catch (error) {
        connection?.destroy();
        this.#failure = error;
        this.#downSince ??= systemClock.monotonic();
        this.#wake();
        await systemClock.sleep(backoff(failures, this.#options.maxBackoffMs), this.#end.signal);
      }
    }
  }

  /** A channel that is refused (its permission is missing) is gone; what else the connection is for goes on. */
  async #subscribe(connection: Connection): Promise<void> {
    for (const [channel, listener] of this.#channels) {
      try {
        await connection.subscribe(channel, listener);
      } catch (error) {
        if (!isLasting(error)) throw error;
        this.#channels.delete(channel);
      }
    }
  }

  #use(connection: Connection): void {
    if (this.#losses > 0) this.#sayUp();
    this.#connection = connection;
    this.#downSince = undefined;
    this.#failure = undefined;
    void connection.lost.then((why) => {
      if (this.#connection !== connection) return;
      this.#connection = undefined;
      this.#losses++;
      this.#downSince = systemClock.monotonic();
      this.#failure = new ConnectionLost(reason(why));
      if (this.closed) return;
      this.#options.log?.("warn", `Connection to Redis at "${this.shown}" lost, reconnecting: ${reason(why)}`);
      this.#options.onLost?.();
      this.#connect();
    });
    if (this.#options.pingMs !== undefined) void this.#ping(connection, this.#options.pingMs);
    this.#wake();
  }

  /** Keeps checking a connection until it is lost: without a pending command, a dead peer is not noticed. */
  async #ping(connection: Connection, everyMs: number): Promise<void> {
    const lost = new AbortController();
    void connection.lost.then(() => lost.abort());
    while (this.#connection === connection) {
      await systemClock.sleep(everyMs, lost.signal);
      if (this.#connection === connection) await connection.send(["PING"]).catch(() => {});
    }
  }

  #sayUp(): void {
    const now = systemClock.monotonic();
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

/** Milliseconds until the next attempt: doubling, with jitter so that many processes do not come back at once. */
function backoff(failures: number, maxMs = MAX_BACKOFF_MS): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** failures, maxMs) * (0.5 + Math.random());
}
