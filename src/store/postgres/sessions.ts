/**
 * Connections for transactions: each is used by one at a time, and belongs to nothing else.
 *
 * The driver's `reserve()` waits forever if it has to connect, and what is sent on a reserved connection after its loss is never
 * answered. So a session connects by a statement, reserves the only connection of a pool, and rejects when that is lost.
 *
 * @module
 */
import type { Pool } from "./pool.ts";

/** A connection for one transaction. */
export interface Session {
  /** Sends on the connection, and returns the answer. Rejects as soon as the connection is lost. */
  send<T>(what: (connection: Pool) => PromiseLike<T>): Promise<T>;
  /** Gives it back, or closes it if it was lost or `isUsable` is false. */
  release(isUsable: boolean): void;
}

/** A pool of one connection. */
interface One {
  readonly pool: Pool;
  readonly lost: Promise<never>;
  isLost: boolean;
}

/** Options of {@linkcode Sessions}. */
export interface SessionOptions {
  /** Returns a pool of one connection. */
  readonly create: (onLoss: () => void) => Pool;
  /** Returns an answer. Without one, it fails after a while, or after `timeoutMs`. */
  readonly answered: <T>(answer: PromiseLike<T>, timeoutMs: number | undefined) => Promise<T>;
  /** How many there are at once. */
  readonly most: number;
}

export class Sessions {
  readonly #create: SessionOptions["create"];
  readonly #answered: SessionOptions["answered"];
  readonly #most: number;
  readonly #free: One[] = [];
  /** Those that wait for a free one. */
  readonly #waiting: (() => void)[] = [];
  readonly #ends = new Set<Promise<void>>();
  #count = 0;
  #isClosed = false;

  constructor({ create, answered, most }: SessionOptions) {
    this.#create = create;
    this.#answered = answered;
    this.#most = most;
  }

  /**
   * Returns a connected session, as soon as one is free; undefined if they are closed. A new one fails if it isn't connected within
   * `timeoutMs`.
   */
  async open(timeoutMs?: number): Promise<Session | undefined> {
    while (!this.#isClosed && this.#free.length === 0 && this.#count >= this.#most) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#isClosed) return undefined;
    const one = this.#free.pop() ?? await this.#connect(timeoutMs);
    // Without a turn in between: it is connected.
    const connection = one.isLost || this.#isClosed ? undefined : await one.pool.reserve();
    if (connection === undefined) {
      this.#end(one);
      return await this.open(timeoutMs);
    }
    return {
      // The driver ends the process if something is sent on a closed socket.
      send: (what) => one.isLost ? one.lost : Promise.race([what(connection), one.lost]),
      release: (isUsable) => {
        if (!isUsable || one.isLost || this.#isClosed) return this.#end(one);
        connection.release();
        this.#free.push(one);
        this.#waiting.shift()?.();
      },
    };
  }

  /** Closes those that are free; the others when they are released. Nothing waits for one any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const wake of this.#waiting.splice(0)) wake();
    for (const one of this.#free.splice(0)) this.#end(one);
    await Promise.all(this.#ends);
  }

  async #connect(timeoutMs: number | undefined): Promise<One> {
    this.#count++;
    const { promise: lost, reject } = Promise.withResolvers<never>();
    lost.catch(() => {});
    const pool = this.#create(() => {
      one.isLost = true;
      reject(Object.assign(new Error("the connection was lost"), { code: "CONNECTION_CLOSED" }));
    });
    const one: One = { pool, lost, isLost: false };
    try {
      // A pooler accepts the login by itself, and this statement waits for the server.
      await this.#answered(pool.unsafe("SELECT 1"), timeoutMs);
      return one;
    } catch (error) {
      this.#end(one);
      throw error;
    }
  }

  #end({ pool }: One): void {
    this.#count--;
    this.#waiting.shift()?.();
    const end: Promise<void> = pool.end({ timeout: 0 }).catch(() => {}).finally(() => this.#ends.delete(end));
    this.#ends.add(end);
  }
}
