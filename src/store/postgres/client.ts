/**
 * Connections to a PostgreSQL server: statements by themselves, and transactions. It needs no state of a session, so that a pooler
 * may give each transaction another one.
 *
 *  1. A statement that wasn't sent is sent again, up to `waitMs`. One whose reply was lost is repeated if that is harmless.
 *  2. A statement or transaction that was rolled back is repeated. If the reply of its commit was lost, a row that it has inserted shows its
 *     outcome. The number of a transaction doesn't: a server that was killed, or its replica, may give it to another one.
 *  3. A server that doesn't answer counts as lost: its connections are left. The server ends a transaction whose client stands still,
 *     so that its locks hold up no other one.
 *
 * @module
 */
import { type Clock, systemClock } from "../../clock.ts";
import { StoreError } from "../port/errors.ts";
import type { Row, Value } from "../sql/body.ts";
import type { PostgresAddress } from "./address.ts";
import { type Budget, budgetWithin, DEFAULT_BUDGET } from "./budget.ts";
import {
  failureOf,
  hasWaited,
  isCancelled,
  isReadOnly,
  isUnprepared,
  refusesWrites,
  SILENCE,
  translate,
  unanswered,
} from "./errors.ts";
import { Hosts } from "./hosts.ts";
import { listen, type Listening } from "./listening.ts";
import { createPool, loadDriver, type Pool, type PoolOptions, type Postgres, rowsIn, send } from "./pool.ts";
import { type Session, Sessions } from "./sessions.ts";
import { SETTINGS } from "./settings.ts";
import { readTlsFiles, type TlsFiles } from "./tls.ts";
import { encode } from "./values.ts";

/** Runs a statement of a transaction. */
export interface Query {
  (text: string, values: readonly Value[]): Promise<readonly Row[]>;
  /** Runs statements without parameters. */
  script(text: string): Promise<void>;
}

/** Options of the client. */
export interface ClientOptions {
  readonly waitMs: number;
  /** A statement without an answer is lost after this time. Default 30 s. */
  readonly replyTimeoutMs?: number;
  /** The server ends a transaction in which nothing is sent for this time. Default 5 s. */
  readonly idleTimeoutMs?: number;
  /** Interval at which a connection that listens is checked. Default 15 s. */
  readonly pingMs?: number;
  readonly log?: ((level: "info" | "warn" | "error", message: string) => void) | undefined;
}

/** Options of a transaction. */
export interface TransactionOptions {
  readonly isolation?: "READ COMMITTED" | "REPEATABLE READ";
  readonly marks?: string;
  /** As {@linkcode ClientOptions.replyTimeoutMs}, for its statements. */
  readonly replyTimeoutMs?: number;
  /** It fails after it has waited this long for a lock of another transaction. Default: it is repeated as if it had been rolled back. */
  readonly lockTimeoutMs?: number;
}

const REPLY_TIMEOUT_MS = 30_000;
/** A handler may block the event loop in the middle of a transaction. */
const IDLE_TIMEOUT_MS = 5_000;
/**
 * Bodies find rows by keys. The planner would read small tables whole, and a plan is kept when its tables have grown, until these are
 * analyzed. Compiling a plan takes longer than running it.
 */
const BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL jit = off";
const MIN_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1_000;
/** Without a reason, an abort creates an exception with its stack: a twentieth of the processor time of a statement. */
const ANSWERED = "answered";
/** A transaction waits this long for a lock, unless its options say otherwise. One of an application may stay open for hours. */
const LOCK_TIMEOUT_MS = 5_000;
/** A rolled back transaction is repeated for this time, with growing pauses: those that it collides with must end first. */
const REPEAT_MS = 5_000;
const MAX_REPEAT_PAUSE_MS = 500;

const UNPREPARED =
  "A pooler of PostgreSQL doesn't keep prepared statements: none are used from now on; add prepare=false to the address";

/** Connections to a server. */
export class Client {
  /** The clock of this process, for waits. The store's time is the server's. */
  readonly clock: Clock = systemClock;
  readonly address: PostgresAddress;
  readonly #options: ClientOptions;
  readonly #postgres: Postgres;
  readonly #hosts: Hosts;
  #budget: Budget;
  /** Settings of each session. */
  #settings: Readonly<Record<string, string>> = {};
  /** The certificates, as they were when they could last be read. */
  #files: TlsFiles;
  /** The connections of statements by themselves. */
  #shared: Shared;
  #sessions: Sessions;
  /** Those that have lost a connection, and have statements to answer on others. */
  readonly #lost = new Set<Shared>();
  /** The ends of earlier pools. */
  readonly #left = new Set<Promise<unknown>>();
  #losses = 0;
  #prepares: boolean;
  #isPooled = false;
  #downSince: number | undefined;
  readonly #closing = new AbortController();

  private constructor(postgres: Postgres, address: PostgresAddress, options: ClientOptions) {
    this.#postgres = postgres;
    this.address = address;
    this.#options = options;
    this.#prepares = address.prepare;
    this.#budget = address.connections === undefined ? DEFAULT_BUDGET : budgetWithin(address.connections);
    this.#hosts = new Hosts(address.hosts);
    this.#files = readTlsFiles(address);
    this.#shared = this.#createShared();
    this.#sessions = this.#createSessions();
  }

  /**
   * Loads the driver, which takes 5 ms. Connects at the first statement.
   *
   * @throws {StoreError} if a certificate can't be read
   */
  static async create(address: PostgresAddress, options: ClientOptions): Promise<Client> {
    if (address.ignored.length > 0) {
      const names = address.ignored.join(", ");
      options.log?.("warn", `Parameters of "${address.shown}" have no effect: ${names}`);
    }
    return new Client(await loadDriver(), address, options);
  }

  /** How many times a connection was lost. */
  get losses(): number {
    return this.#losses;
  }

  /** Whether there is no connection for notifications. */
  get onlyPolls(): boolean {
    return !this.#budget.listens;
  }

  /** Keeps to the connections that a user or a database may have, unless the address has a number. */
  fit(limit: number): void {
    const { statements, transactions, listens } = budgetWithin(limit);
    const isSame = statements === this.#budget.statements && transactions === this.#budget.transactions &&
      listens === this.#budget.listens;
    if (this.address.connections !== undefined || isSame) return;
    this.#budget = { statements, transactions, listens };
    this.#leave(this.#shared);
  }

  /** The longest total time that a call waits for a connection. */
  get waitMs(): number {
    return this.#options.waitMs;
  }

  /**
   * Runs the first statement, and finds out whether there is a pooler in between: it names connections by itself.
   *
   * @param text returns a row whose `pid` is that of the server's process
   * @throws {StoreError} if it fails
   */
  async meet(text: string): Promise<Row> {
    return await this.#attempt(async (shared) => {
      const result = await this.#answered(shared.pool.unsafe(text), () => this.#leave(shared));
      const [row] = rowsIn(result);
      if (!this.#isPooled && row!.pid !== result.state.pid) {
        this.#isPooled = true;
        this.#leave(shared);
      }
      return row!;
    }, true);
  }

  /**
   * Begins sessions with other settings than those of the user and the database.
   *
   * @param names those of {@linkcode SETTINGS} that have another value
   * @throws {StoreError} if a pooler decides about sessions
   */
  correct(names: readonly string[], user: string): void {
    if (names.length === 0) return;
    if (this.#isPooled) {
      const cure = names.map((name) => `ALTER ROLE "${user}" SET ${name} = '${SETTINGS[name]}'`).join("; ");
      throw new StoreError(
        "wrong",
        `User ${user} at "${this.address.shown}" has settings that a store can't use, and a pooler keeps them: ${cure}`,
      );
    }
    this.#settings = { ...this.#settings, ...Object.fromEntries(names.map((name) => [name, SETTINGS[name]!])) };
    this.#leave(this.#shared);
  }

  /**
   * Runs one statement by itself.
   *
   * @param options.isRepeatable it may be repeated if its reply was lost; true by default
   * @param options.isOnce it fails if it has waited for a lock; false by default: it is repeated
   * @param options.replyTimeoutMs as {@linkcode ClientOptions.replyTimeoutMs}
   * @throws {StoreError} if it fails
   */
  async run(
    text: string,
    values: readonly Value[] = [],
    { isRepeatable = true, isOnce, replyTimeoutMs }: {
      readonly isRepeatable?: boolean;
      readonly isOnce?: boolean;
      readonly replyTimeoutMs?: number | undefined;
    } = {},
  ): Promise<readonly Row[]> {
    return await this.#attempt(
      async (shared) => {
        if (this.#budget.statements === 0) return await this.#runInSession(text, values, replyTimeoutMs);
        shared.pending++;
        try {
          return await this.#answered(this.#send(shared.pool, text, values), () => this.#leave(shared), replyTimeoutMs);
        } finally {
          if (--shared.pending === 0 && this.#lost.has(shared)) this.#end(shared);
        }
      },
      isRepeatable,
      isOnce,
    );
  }

  /**
   * Runs a transaction. It may run again from the start.
   *
   * @param begin the columns of the row that `run` receives
   * @param options.marks the function that inserts a row, which marks that it has committed. Without it, it is repeated if that is unknown.
   * @throws {StoreError} if it fails
   */
  async transaction<T>(
    begin: string,
    run: (query: Query, first: Row) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    const isOnce = options.lockTimeoutMs !== undefined;
    return await this.#attempt(() => this.#transact(begin, run, options), false, isOnce);
  }

  async #transact<T>(
    begin: string,
    run: (query: Query, first: Row) => Promise<T>,
    { isolation = "READ COMMITTED", marks, replyTimeoutMs, lockTimeoutMs = LOCK_TIMEOUT_MS }: TransactionOptions,
  ): Promise<T> {
    const { session, sessions } = await this.#openSession(replyTimeoutMs);
    // The lines of the free sessions have probably died with this one.
    const onSilence = () => this.#leaveSessions(sessions);
    const answered = <R>(what: (connection: Pool) => PromiseLike<R>) =>
      this.#answered(session.send(what), onSilence, replyTimeoutMs);
    const mark = marks === undefined ? undefined : { function: marks, name: randomName() };
    let done: { readonly result: T } | undefined;
    let failed: { readonly error: unknown } | undefined;
    let latest: Promise<unknown> | undefined;
    let isUsable = true;
    let isReleased = false;
    try {
      // The texts of `begin` have no parameters: they are one message.
      const started = await answered((connection) =>
        connection.unsafe(
          `BEGIN ISOLATION LEVEL ${isolation}; ${BY_INDEX}; SET LOCAL lock_timeout = ${lockTimeoutMs}; SET LOCAL idle_in_transaction_session_timeout = ${
            this.#options.idleTimeoutMs ?? IDLE_TIMEOUT_MS
          };${mark === undefined ? "" : `${insertMark(mark, 0)};`} SELECT ${begin}`,
        )
      ) as unknown as readonly (readonly Row[])[];
      const first = started.at(-1)![0]!;
      const query = (text: string, values: readonly Value[]) => {
        const rows = failed
          ? Promise.reject(failed.error)
          : answered((connection) => this.#send(connection, text, values)).catch((error) => {
            throw hasWaited(error) ? Object.assign(error, { values }) : error;
          });
        // After an error, the server answers all that follows with another one, and rolls back instead of committing.
        latest = rows.catch((error) => failed ??= { error });
        return rows;
      };
      const script = async (text: string) => void await session.send((connection) => connection.unsafe(text));
      const result = await run(Object.assign(query, { script }), first);
      done = { result };
      const { command } = await answered((connection) => connection.unsafe("COMMIT"));
      if (command === "COMMIT") return result;
      // A statement failed for which the caller doesn't wait.
      await latest;
      throw failed!.error;
    } catch (last) {
      const error = failed?.error ?? last;
      if (failureOf(error) !== "unknown") {
        await answered((connection) => connection.unsafe("ROLLBACK")).catch(() => isUsable = false);
        throw error;
      }
      // It may be the only one.
      session.release(false);
      isReleased = true;
      if (done === undefined || mark === undefined || !(await this.#hasCommitted(mark, replyTimeoutMs))) {
        throw new NotCommitted(error);
      }
      return done.result;
    } finally {
      if (!isReleased) session.release(isUsable);
    }
  }

  /** Runs a statement on a connection for transactions. */
  async #runInSession(
    text: string,
    values: readonly Value[],
    replyTimeoutMs: number | undefined,
  ): Promise<readonly Row[]> {
    const { session, sessions } = await this.#openSession(replyTimeoutMs);
    let isUsable = true;
    try {
      const rows = session.send((connection) => this.#send(connection, text, values));
      return await this.#answered(rows, () => this.#leaveSessions(sessions), replyTimeoutMs);
    } catch (error) {
      isUsable = failureOf(error) !== "unknown";
      throw error;
    } finally {
      session.release(isUsable);
    }
  }

  /** Returns a connection for a transaction, and those that it is of. */
  async #openSession(
    replyTimeoutMs: number | undefined,
  ): Promise<{ readonly session: Session; readonly sessions: Sessions }> {
    for (;;) {
      const sessions = this.#sessions;
      const session = await sessions.open(replyTimeoutMs).catch((error) => {
        throw failureOf(error) === "unknown" ? new NotCommitted(error) : error;
      });
      if (session !== undefined) return { session, sessions };
      // Those that it waited for were left.
      if (this.#closing.signal.aborted) throw this.#closed();
    }
  }

  /**
   * Listens for notifications.
   *
   * @param onReady called whenever notifications may have been missed: at the start, and after a loss of the connection
   * @returns ends it
   */
  listen(channel: string, onMessage: (payload: string) => void, onReady: () => void): Listening {
    const { listen: direct } = this.address;
    const hosts = direct ? new Hosts([direct]) : this.#hosts;
    return listen({
      ...{ channel, onMessage, onReady, clock: this.clock, pingMs: this.#options.pingMs },
      create: (onnotify, onLoss) => this.#createPool({ max: 1, hosts, onnotify, onLoss }),
      answered: (answer) => this.#answered(answer),
    });
  }

  /** Closes all connections, and ends waits for a lost server. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const shared of [this.#shared, ...this.#lost]) this.#end(shared);
    await Promise.all([this.#sessions.close(), ...this.#left]);
  }

  #closed(): StoreError {
    return new StoreError("unavailable", `Store "${this.address.shown}" has been closed`);
  }

  /** @param isOnce it isn't repeated if it has waited for a lock */
  async #attempt<T>(run: (shared: Shared) => Promise<T>, isRepeatable: boolean, isOnce = false): Promise<T> {
    const { waitMs } = this.#options;
    const { signal } = this.#closing;
    const start = this.clock.monotonic();
    /** Since when it waits for a connection: from the start, unless it had one. It takes longer to notice a silent one than to wait. */
    let since: number | undefined;
    let pause = MIN_PAUSE_MS;
    let repeatPause = MIN_PAUSE_MS;
    for (;;) {
      const shared = this.#shared;
      try {
        if (signal.aborted) throw this.#closed();
        const result = await run(shared);
        this.#noteUp();
        return result;
      } catch (error) {
        const cause = error instanceof NotCommitted ? error.cause : error;
        const failure = error instanceof NotCommitted ? "again" : failureOf(cause);
        if (failure === "failed" || signal.aborted) throw translate(cause, this.address.shown);
        if (failure === "repeat") {
          const repeatMs = isCancelled(cause) ? waitMs : REPEAT_MS;
          const isOver = isOnce && hasWaited(cause) || this.clock.monotonic() - start > repeatMs;
          if (isOver) throw translate(cause, this.address.shown);
          if (isUnprepared(cause)) this.#stopPreparing();
          await this.clock.sleep(Math.random() * repeatPause, signal);
          repeatPause = Math.min(MAX_REPEAT_PAUSE_MS, 2 * repeatPause);
          continue;
        }
        if (failure === "unknown" || error instanceof NotCommitted) this.#losses++;
        this.#noteDown(cause);
        if (isReadOnly(cause)) this.#leave(shared);
        if (failure === "unknown" && !isRepeatable) throw unanswered(cause, this.address.shown);
        const now = this.clock.monotonic();
        since ??= failure === "again" && cause === error ? start : now;
        if (now - since + pause > waitMs) throw await this.#translated(cause);
        await this.clock.sleep(pause * (0.5 + Math.random()), signal);
        pause = Math.min(MAX_PAUSE_MS, 2 * pause);
      }
    }
  }

  /** Converts an error. Of a server that refuses writes, it tells a replica from a setting. */
  async #translated(cause: unknown): Promise<unknown> {
    const isReplica = !isReadOnly(cause) ||
      await this.#answered(this.#send(this.#shared.pool, "SELECT pg_is_in_recovery() AS is_replica", []))
        .then(([row]) => row!["is_replica"] === true, () => true);
    return isReplica ? translate(cause, this.address.shown) : refusesWrites(cause, this.address.shown);
  }

  /** Returns whether a transaction has committed that inserts a mark, when it has ended. If not, it never will. */
  async #hasCommitted(mark: Mark, replyTimeoutMs: number | undefined): Promise<boolean> {
    this.#losses++;
    const [row] = await this.run(insertMark(mark, 1), [], { replyTimeoutMs }).catch((error) => {
      throw unanswered(error, this.address.shown);
    });
    return Number(row!.number) === 0;
  }

  /** Returns an answer. Without one, it fails after a while. */
  async #answered<T>(
    answer: PromiseLike<T>,
    onSilence = () => {},
    replyTimeoutMs = this.#options.replyTimeoutMs ?? REPLY_TIMEOUT_MS,
  ): Promise<T> {
    const answered = new AbortController();
    const silence = this.clock.sleep(replyTimeoutMs, answered.signal).then(() => {
      if (answered.signal.aborted) return answer;
      onSilence();
      throw Object.assign(new Error(`no reply for ${replyTimeoutMs} ms`), { code: SILENCE });
    });
    try {
      return await Promise.race([answer, silence]);
    } finally {
      answered.abort(ANSWERED);
    }
  }

  async #send(on: Pool, text: string, values: readonly Value[]): Promise<readonly Row[]> {
    const encoded = values.map((value) => typeof value === "string" ? encode(value) : value);
    return rowsIn(await send(on, text, encoded, this.#prepares));
  }

  #createSessions(): Sessions {
    return new Sessions({
      create: (onLoss) => this.#createPool({ max: 1, onLoss }),
      answered: (answer, timeoutMs) => this.#answered(answer, undefined, timeoutMs),
      most: this.#budget.transactions,
    });
  }

  #createShared(): Shared {
    const shared: Shared = {
      pool: this.#createPool({
        max: Math.max(1, this.#budget.statements),
        onLoss: () => {
          // Also of connections on which nothing was pending: the next one may lead to a replica that lagged.
          this.#losses++;
          this.#replace(shared);
        },
      }),
      pending: 0,
    };
    return shared;
  }

  #createPool(options: Pick<PoolOptions, "max" | "onLoss"> & Partial<PoolOptions>): Pool {
    try {
      // They may have been renewed.
      this.#files = readTlsFiles(this.address);
    } catch {
      // The earlier ones may still do.
    }
    const { hosts, files, isPooled } = { hosts: this.#hosts, files: this.#files, isPooled: this.#isPooled };
    return createPool(this.#postgres, this.address, { hosts, files, isPooled, settings: this.#settings, ...options });
  }

  /** Opens other connections than those of a pool that has lost one. These are closed when their statements are answered. */
  #replace(shared: Shared): void {
    if (this.#shared !== shared || this.#closing.signal.aborted) return;
    this.#shared = this.#createShared();
    if (shared.pending > 0) this.#lost.add(shared);
    else this.#end(shared);
  }

  /** Leaves the connections to a server that became a replica, or is silent: new ones may lead to the primary. */
  #leave(shared: Shared): void {
    if (this.#shared === shared) this.#shared = this.#createShared();
    else if (!this.#lost.has(shared)) return;
    this.#end(shared);
    this.#leaveSessions(this.#sessions);
  }

  #end(shared: Shared): void {
    this.#lost.delete(shared);
    this.#noteLeft(shared.pool.end({ timeout: shared.pending > 0 ? 1 : 0 }).catch(() => {}));
  }

  /** Leaves the connections for transactions. Those that are in use are closed afterwards. */
  #leaveSessions(sessions: Sessions): void {
    if (this.#sessions !== sessions) return;
    this.#sessions = this.#createSessions();
    this.#noteLeft(sessions.close());
  }

  #noteLeft(end: Promise<void>): void {
    const left = end.finally(() => this.#left.delete(left));
    this.#left.add(left);
  }

  /** A pooler has given a transaction to another connection than the one that has prepared its statements. */
  #stopPreparing(): void {
    if (!this.#prepares) return;
    this.#prepares = false;
    this.#options.log?.("warn", UNPREPARED);
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

/** Connections of statements by themselves, and how many of these have no answer yet. */
interface Shared {
  readonly pool: Pool;
  pending: number;
}

/** A row by which a transaction is known. */
interface Mark {
  readonly function: string;
  readonly name: string;
}

/** Returns the insertion of a mark. It waits for another transaction that inserts it. Number 1 is that of one that asks. */
function insertMark(mark: Mark, number: 0 | 1): string {
  return `SELECT ${mark.function}(${mark.name}, ${number}) AS number`;
}

/** Returns a random name of 63 bits: two of one name would count as one. */
export function randomName(): string {
  return String(BigInt.asUintN(63, crypto.getRandomValues(new BigUint64Array(1))[0]!));
}

/** A transaction that wasn't committed, because its connection was lost. */
class NotCommitted extends Error {
  constructor(override readonly cause: unknown) {
    super("not committed");
  }
}
