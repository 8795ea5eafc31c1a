/**
 * Connections of the driver.
 *
 * @module
 */
import { once } from "node:events";
import { Socket } from "node:net";
import type driver from "postgres";
import { systemClock } from "../../clock.ts";
import type { Row } from "../sql/body.ts";
import type { PostgresAddress } from "./address.ts";
import { READ_ONLY, unsent } from "./errors.ts";
import type { Hosts } from "./hosts.ts";
import { NO_TLS, type TlsFiles, tlsOption } from "./tls.ts";
import { decode } from "./values.ts";

/** The driver. */
export type Postgres = typeof driver;
/** Connections of the driver. */
export type Pool = ReturnType<Postgres>;

/** Options of connections. */
export interface PoolOptions {
  readonly hosts: Hosts;
  /** The certificates. */
  readonly files: TlsFiles;
  readonly max?: number;
  /** Settings of each session. */
  readonly settings: Readonly<Record<string, string>>;
  /** They lead to a pooler. */
  readonly isPooled?: boolean;
  /**
   * Called when a connection is lost. The pool must not be used any more: if the driver was about to send a statement, it sends nothing
   * on the connection that it opens instead.
   */
  readonly onLoss: () => void;
  /** Receives notifications. */
  readonly onnotify?: (channel: string, payload: string) => void;
}

/** A pause before a connection, after one that was closed so soon. Doubled each time, up to {@linkcode SOON_MS}. */
const MIN_PAUSE_MS = 20;
const SOON_MS = 1_000;

const YES = "S".charCodeAt(0);

/**
 * A socket that reports an error together with its end. The driver rejects its statements at the error, and at the end only if there was
 * none: it would never answer a statement sent between the two.
 */
class Line extends Socket {
  /** The server has to answer the driver's question for TLS with yes. */
  readonly #requiresTls: boolean;
  #error: unknown[] | undefined;

  constructor(requiresTls: boolean) {
    super();
    this.#requiresTls = requiresTls;
  }

  override emit(event: string, ...values: unknown[]): boolean {
    if (event === "error") {
      this.#error ??= values;
      return true;
    }
    if (event === "data" && this.#requiresTls && this.bytesRead === 1 && (values[0] as Uint8Array)[0] !== YES) {
      // The driver would begin TLS nevertheless.
      this.destroy(Object.assign(new Error("the server has no TLS"), { code: NO_TLS }));
      return true;
    }
    if (event === "close" && this.#error !== undefined) super.emit("error", ...this.#error);
    return super.emit(event, ...values);
  }
}

/** Loads the driver, which takes 5 ms. */
export async function loadDriver(): Promise<Postgres> {
  return (await import("postgres")).default;
}

/**
 * Returns connections, which are opened when they are needed. `end` closes all, also those that are being opened: the driver leaves
 * these to their timeout.
 */
export function createPool(
  postgres: Postgres,
  address: PostgresAddress,
  { hosts, files, settings, max, isPooled = false, onLoss, onnotify }: PoolOptions,
): Pool {
  const { user, password, database, tls } = address;
  /** The open sockets, and when each was dialled. */
  const sockets = new Map<Socket, number>();
  const pauses = new Set<Promise<Socket>>();
  const ending = new AbortController();
  let losses = 0;
  const dialNow = () => {
    const socket = new Line(tls !== undefined && tls.mode !== "prefer");
    sockets.set(socket, systemClock.monotonic());
    if (ending.signal.aborted) systemClock.turn().then(() => socket.destroy());
    else hosts.dial(socket);
    return socket;
  };
  const dial = () => {
    for (const [socket, at] of sockets) {
      if (!socket.destroyed) continue;
      sockets.delete(socket);
      // With TLS, an end during the login shows here alone: the driver connects again without an error.
      const isLoss = tls !== undefined && socket.bytesRead > 0 && systemClock.monotonic() - at < SOON_MS;
      losses = isLoss ? losses + 1 : 0;
    }
    if (losses === 0) return dialNow();
    const pauseMs = Math.min(SOON_MS, MIN_PAUSE_MS * 2 ** (losses - 1)) * (0.5 + Math.random());
    const dialled = systemClock.sleep(pauseMs, ending.signal).then(dialNow);
    pauses.add(dialled);
    void dialled.then(() => pauses.delete(dialled));
    return dialled;
  };
  const pool = postgres(
    {
      socket: dial,
      username: user,
      ...(password !== undefined && { password }),
      database,
      ssl: tls === undefined ? false : tlsOption(tls, files),
      max,
      // PgBouncer 1.18 gives a connection away after a reply, although it has forwarded the first half of the next statement.
      ...(isPooled && { max_pipeline: 0 }),
      fetch_types: false,
      prepare: address.prepare,
      connect_timeout: address.connectTimeoutS,
      // A connection that is established while the pool ends would not stop its timer.
      max_lifetime: null,
      backoff: () => 0,
      onclose: onLoss,
      ...(onnotify && { onnotify }),
      onnotice: () => {},
      // Reported when a connection begins. The pool must not use it: the caller leaves the pool, and another one tries the next host.
      onparameter: (name: string, value: string) => {
        if (name !== "in_hot_standby" || value !== "on" || !hosts.hasOthers) return;
        delete pool.parameters["in_hot_standby"];
        hosts.skip();
        throw Object.assign(new Error("the server is a replica"), { code: READ_ONLY });
      },
      connection: {
        application_name: address.applicationName,
        ...settings,
        ...(address.options !== undefined && { options: address.options }),
      },
      types: {
        number: { to: 20, from: [20, 1700], serialize: String, parse: Number },
        text: { to: 25, from: [25, 1043], serialize: String, parse: decode },
      },
    } as unknown as Parameters<Postgres>[0],
  );
  const { end } = pool;
  return Object.assign(pool, {
    async end(options?: Parameters<typeof end>[0]) {
      await end(options);
      ending.abort();
      if (pauses.size > 0) {
        await Promise.all(pauses);
        // The driver has to know a socket before that closes.
        await systemClock.turn();
      }
      await Promise.all(Array.from(sockets.keys(), async (socket) => {
        if (socket.destroyed) return;
        const closed = once(socket, "close");
        socket.destroy();
        await closed;
      }));
    },
  });
}

/**
 * Sends a statement, changed in three ways from what the driver does:
 *
 *  1. It is sent whole. The driver would ask for the types of the parameters of a new one, and send these after the reply. If the process
 *     stood still in between, no timeout of the server would end its transaction, which holds locks.
 *  2. It isn't repeated. The driver would repeat one that the server hasn't prepared, among those that it has sent meanwhile: their
 *     answers would be mixed up.
 *  3. Of one that wasn't sent, the error says so. The driver keeps the error that ended a connection, and gives it to the statement that
 *     opens the next one, even if that is an hour later.
 */
export function send(
  on: Pool,
  text: string,
  values: readonly (string | number | null)[],
  prepare: boolean,
): PromiseLike<readonly Row[]> {
  const query = on.unsafe(text, [...values], { prepare });
  const driven = query as unknown as { readonly state: unknown; reject(error: unknown): void };
  const { reject } = driven;
  driven.reject = (error) => reject(driven.state === null ? unsent(error) : error);
  return Object.defineProperties(query, { describeFirst: WHOLE, retried: ONCE });
}

/** The driver notes here whether it asks for the types of the parameters first. */
const WHOLE: PropertyDescriptor = { get: () => false, set() {} };

/** The driver notes here why it repeats a statement, and then leaves out one that is cancelled. */
const ONCE: PropertyDescriptor & ThisType<{ reject(error: unknown): void; cancelled: unknown }> = {
  get: () => undefined,
  set(error) {
    this.reject(error);
    this.cancelled = {};
  },
};

/**
 * Returns the rows of a result. The driver keeps the number of the rows of a result that ended with an error or with the connection,
 * and leaves as many places free before the first row of the next one.
 */
export function rowsIn<R>(result: readonly R[]): R[] {
  // It leaves out places without a row.
  return result.filter(() => true);
}
