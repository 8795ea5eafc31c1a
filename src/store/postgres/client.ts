/**
 * Connections to a PostgreSQL server: statements by themselves, and transactions. It needs no state of a session, so that a pooler
 * may give each transaction another one.
 *
 *  1. A statement that wasn't sent is sent again, up to `waitMs`. One whose reply was lost is repeated if that is harmless.
 *  2. A transaction that was rolled back is repeated. If the reply of its commit was lost, the server is asked for its outcome.
 *  3. Texts may contain a NUL, which PostgreSQL can't store: it is escaped by a character that Unicode reserves.
 *
 * @module
 */
import type postgres from "postgres";
import { type Clock, systemClock } from "../../clock.ts";
import { StoreError } from "../port/errors.ts";
import type { Row, Value } from "../sql/body.ts";
import type { Endpoint, PostgresAddress } from "./address.ts";
import { failureOf, isReadOnly, translate } from "./errors.ts";

type Postgres = typeof postgres;
type Pool = ReturnType<Postgres>;

/** Runs a statement of a transaction. */
export interface Query {
  (text: string, values: readonly Value[]): Promise<readonly Row[]>;
  /** Runs statements without parameters. */
  script(text: string): Promise<void>;
}

/** A connection that listens. */
export interface Listening {
  /** Resolves when it does. */
  readonly ready: Promise<unknown>;
  readonly stop: () => Promise<void>;
}

/** Options of the client. */
export interface ClientOptions {
  readonly waitMs: number;
  readonly maxConnections?: number;
  readonly log?: ((level: "info" | "warn" | "error", message: string) => void) | undefined;
}

const CONNECT_TIMEOUT_S = 5;
const MIN_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1_000;
const MAX_CONNECTIONS = 8;
/** A rolled back transaction is repeated this many times. */
const MAX_REPEATS = 20;

/** Stands for a NUL if `0` follows, and for itself if `1` does. Unicode reserves it for programs. */
const ESCAPE = "\u{10FFFE}";

/** Connections to a server. */
export class Client {
  /** The clock of this process, for waits. The store's time is the server's. */
  readonly clock: Clock = systemClock;
  readonly address: PostgresAddress;
  readonly #options: ClientOptions;
  readonly #postgres: Postgres;
  #pool: Pool;
  #losses = 0;
  #downSince: number | undefined;
  #isClosed = false;

  private constructor(postgres: Postgres, address: PostgresAddress, options: ClientOptions) {
    this.#postgres = postgres;
    this.address = address;
    this.#options = options;
    this.#pool = this.#createPool();
  }

  /** Loads the driver, which takes 5 ms. Connects at the first statement. */
  static async create(address: PostgresAddress, options: ClientOptions): Promise<Client> {
    const { default: postgres } = await import("postgres");
    return new Client(postgres, address, options);
  }

  /** How many times a connection was lost. */
  get losses(): number {
    return this.#losses;
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  /**
   * Runs one statement by itself.
   *
   * @param options.isRepeatable it may be repeated if its reply was lost; true by default
   * @throws {StoreError} if it fails
   */
  async run(
    text: string,
    values: readonly Value[] = [],
    { isRepeatable = true }: { readonly isRepeatable?: boolean } = {},
  ): Promise<readonly Row[]> {
    return await this.#attempt(() => this.#send(this.#pool, text, values), isRepeatable);
  }

  /**
   * Runs a transaction. It may run again from the start.
   *
   * @param begin the columns of the row that `run` receives
   * @throws {StoreError} if it fails
   */
  async transaction<T>(
    begin: string,
    run: (query: Query, first: Row) => Promise<T>,
    isolation = "READ COMMITTED",
  ): Promise<T> {
    return await this.#attempt(async () => {
      const pool = this.#pool;
      const connection = await pool.reserve();
      let done: { readonly xid: string; readonly result: T } | undefined;
      let failed: { readonly error: unknown } | undefined;
      try {
        // The texts of `begin` have no parameters: they are one message.
        const started = await connection.unsafe(
          `BEGIN ISOLATION LEVEL ${isolation}; SELECT pg_current_xact_id()::text AS xid, ${begin}`,
        ) as unknown as readonly (readonly Row[])[];
        const first = started[1]![0]!;
        const query = (text: string, values: readonly Value[]) => {
          const rows = this.#send(connection, text, values);
          // After an error, the server answers all that follows with another one, and rolls back instead of committing.
          rows.catch((error) => failed ??= { error });
          return rows;
        };
        const script = async (text: string) => void await connection.unsafe(text);
        const result = await run(Object.assign(query, { script }), first);
        done = { xid: String(first.xid), result };
        await connection.unsafe("COMMIT");
        if (failed) throw failed.error;
        return result;
      } catch (last) {
        const error = failed?.error ?? last;
        if (failureOf(error) !== "unknown") {
          await connection.unsafe("ROLLBACK").catch(() => {});
          throw error;
        }
        if (done === undefined) throw new NotCommitted(error);
        if (!(await this.#hasCommitted(done.xid))) throw new NotCommitted(error);
        return done.result;
      } finally {
        connection.release();
      }
    }, false);
  }

  /**
   * Listens for notifications.
   *
   * @param onReady called whenever notifications may have been missed: at the start, and after a loss of the connection
   * @returns ends it
   */
  listen(channel: string, onMessage: (payload: string) => void, onReady: () => void): Listening {
    const pool = this.#createPool(this.address.listen, 1);
    return {
      ready: pool.listen(channel, onMessage, onReady),
      stop: () => pool.end({ timeout: 1 }).catch(() => {}),
    };
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pool.end({ timeout: 1 }).catch(() => {});
  }

  async #attempt<T>(run: () => Promise<T>, isRepeatable: boolean): Promise<T> {
    const { waitMs } = this.#options;
    const start = this.clock.monotonic();
    let pause = MIN_PAUSE_MS;
    let repeats = 0;
    for (;;) {
      try {
        if (this.#isClosed) throw new StoreError("unavailable", `Store "${this.address.shown}" has been closed`);
        const result = await run();
        this.#noteUp();
        return result;
      } catch (error) {
        const cause = error instanceof NotCommitted ? error.cause : error;
        const failure = error instanceof NotCommitted ? "again" : failureOf(cause);
        if (failure === "failed" || this.#isClosed) throw translate(cause, this.address.shown);
        if (failure === "repeat") {
          if (++repeats > MAX_REPEATS) throw translate(cause, this.address.shown);
          await this.clock.sleep(Math.random() * pause);
          continue;
        }
        if (failure === "unknown" || error instanceof NotCommitted) this.#losses++;
        this.#noteDown(cause);
        if (isReadOnly(cause)) this.#reconnect();
        if (failure === "unknown" && !isRepeatable) throw unanswered(cause, this.address.shown);
        if (this.clock.monotonic() - start + pause > waitMs) throw translate(cause, this.address.shown);
        await this.clock.sleep(pause * (0.5 + Math.random()));
        pause = Math.min(MAX_PAUSE_MS, 2 * pause);
      }
    }
  }

  /** Returns whether a transaction has committed whose commit wasn't answered. It may not have ended yet. */
  async #hasCommitted(xid: string): Promise<boolean> {
    this.#losses++;
    for (;;) {
      const [row] = await this.run(
        `SELECT pg_xact_status('${xid}'::xid8) AS status, pg_is_in_recovery() AS recovers`,
      ).catch((error) => {
        throw unanswered(error, this.address.shown);
      });
      if (row!.status !== "in progress") return row!.status === "committed";
      await this.clock.sleep(MIN_PAUSE_MS);
    }
  }

  async #send(on: Pool, text: string, values: readonly Value[]): Promise<readonly Row[]> {
    const encoded = values.map((value) => typeof value === "string" ? encode(value) : value);
    return Array.from(await on.unsafe(text, encoded, { prepare: this.address.prepare }));
  }

  #createPool(only?: Endpoint, max = this.#options.maxConnections ?? MAX_CONNECTIONS): Pool {
    const { hosts, user, password, database, tls } = this.address;
    const endpoints = only === undefined ? hosts : [only];
    const [first] = endpoints;
    return this.#postgres(
      {
        ...(first!.host.startsWith("/")
          ? { path: `${first!.host}/.s.PGSQL.${first!.port}` }
          : { host: endpoints.map(({ host }) => host), port: endpoints.map(({ port }) => port) }),
        ...(endpoints.length > 1 && { target_session_attrs: "read-write" }),
        username: user,
        ...(password !== undefined && { password }),
        database,
        ssl: tls === undefined ? false : tls === "require" ? { rejectUnauthorized: false } : "verify-full",
        max,
        fetch_types: false,
        prepare: this.address.prepare,
        connect_timeout: CONNECT_TIMEOUT_S,
        // A connection that is established while the pool ends would not stop its timer.
        max_lifetime: null,
        backoff: () => 0,
        onnotice: () => {},
        connection: { application_name: "jobs" },
        types: {
          number: { to: 20, from: [20, 1700], serialize: String, parse: Number },
          text: { to: 25, from: [25, 1043], serialize: String, parse: decode },
        },
      } as unknown as Parameters<Postgres>[0],
    );
  }

  /** Leaves the connections to a server that became a replica: new ones may lead to the primary. */
  #reconnect(): void {
    const old = this.#pool;
    this.#pool = this.#createPool();
    void old.end({ timeout: 1 }).catch(() => {});
  }

  #noteDown(error: unknown): void {
    if (this.#downSince !== undefined) return;
    this.#downSince = this.clock.monotonic();
    const why = String((error as Error).message).split("\n")[0];
    this.#options.log?.("warn", `Connection to PostgreSQL at "${this.address.shown}" lost, reconnecting: ${why}`);
  }

  #noteUp(): void {
    if (this.#downSince === undefined) return;
    const seconds = ((this.clock.monotonic() - this.#downSince) / 1000).toFixed(1);
    this.#downSince = undefined;
    this.#options.log?.("info", `Connected to PostgreSQL at "${this.address.shown}" again after ${seconds} s`);
  }
}

/** A transaction that wasn't committed, because its connection was lost. */
class NotCommitted extends Error {
  constructor(override readonly cause: unknown) {
    super("not committed");
  }
}

/** Errors of statements that may have run. */
const unknown = new WeakSet<object>();

function unanswered(cause: unknown, shown: string): unknown {
  const error = translate(cause, shown);
  if (typeof error === "object" && error !== null) unknown.add(error);
  return error;
}

/** Returns whether a statement that failed may have run. */
export function isOutcomeUnknown(error: unknown): boolean {
  return typeof error === "object" && error !== null && unknown.has(error);
}

function encode(text: string): string {
  if (!text.includes("\0") && !text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll("\0", `${ESCAPE}0`);
}

function decode(text: string): string {
  return text.includes(ESCAPE) ? text.replaceAll(`${ESCAPE}0`, "\0").replaceAll(`${ESCAPE}1`, ESCAPE) : text;
}

/** Returns the literal of an array, to be cast: `$1::text[]`. */
export function array(values: readonly (string | number | null | undefined)[]): string {
  const items = values.map((value) =>
    value === null || value === undefined
      ? "NULL"
      : typeof value === "number"
      ? `${value}`
      : `"${value.replace(/["\\]/g, "\\$&")}"`
  );
  return `{${items.join(",")}}`;
}
