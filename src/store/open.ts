/**
 * Opens a store by its address. Only this module imports the adapters, and it loads only the required one: `jobs push` on SQLite
 * never loads the Redis client.
 *
 * @module
 */
import { hidePassword } from "./port/hide_password.ts";
import type { Clock } from "../clock.ts";
import type { Store } from "./admin/store.ts";
import { StoreError } from "./port/errors.ts";

/** Options of a store. All except `clock` and `log` can be sent to a Worker. */
export interface StoreOptions {
  /** Maximum number of jobs kept in `dead`. Default 10,000. */
  readonly deadMaxJobs?: number;
  /** How long a job is kept in `dead`. Default 180 days. */
  readonly deadMaxAgeMs?: number;
  /** SQLite: `full` (default) loses no push in a power cut; `normal` may lose those of the last moments. */
  readonly durability?: "full" | "normal";
  /** How long a verb waits for a lock of another program, or for a connection, in milliseconds. Default 10,000. */
  readonly waitMs?: number;
  /** SQLite: waits look for commits of other connections at this interval, in milliseconds. Default: as soon as the kernel reports a write. */
  readonly pollMs?: number;
  /** Redis: maximum pause between two attempts to connect, before jitter of up to a half. Default 2,000. */
  readonly maxBackoffMs?: number;
  /** Format of times in payloads: that of Sidekiq 8 (`8`: integer milliseconds), or one that all versions read (`7`, the default: seconds with a fraction). */
  readonly sidekiqWire?: 7 | 8;
  /** SQLite: creates the file and its folder if they don't exist. Default true. */
  readonly create?: boolean;
  /** The store's clock. Default: the system's. On Redis only the difference to the system's clock counts. */
  readonly clock?: Clock;
  /** Receives lines about the store itself: lost connections, waits for a lock. */
  readonly log?: (level: "info" | "warn" | "error", message: string) => void;
}

/**
 * Opens the store at `url`: `sqlite:PATH`, `redis://…`, `rediss://…`, `redis+unix:PATH`, `postgres://…`.
 *
 * @example
 * ```ts
 * import { Client, openStore } from "@jobs/jobs";
 *
 * await using store = await openStore("sqlite::memory:"); // sqlite:PATH, redis://HOST
 * const jid = await new Client({ store, onUnregistered: () => {} }).push("Report", ["2026-11"]);
 * ```
 *
 * @throws {StoreError} if the address is invalid, or the store can't be opened
 */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  // A JavaScript program may pass any value.
  const address = String(url);
  switch (kindOf(address)) {
    case "sqlite":
      return await (await import("./sqlite/open.ts")).openSqlite(address, options);
    case "redis":
      return await (await import("./redis/open.ts")).openRedis(address, options);
    case "postgres":
      return await (await import("./postgres/open.ts")).openPostgres(address, options);
  }
}

/** Returns the kind of store at an address. @throws {StoreError} if there is none */
function kindOf(address: string): "sqlite" | "redis" | "postgres" {
  const scheme = address.slice(0, address.indexOf(":"));
  if (scheme === "sqlite") return scheme;
  if (["redis", "rediss", "redis+unix", "redis+sentinel"].includes(scheme)) return "redis";
  if (["postgres", "postgresql"].includes(scheme)) return "postgres";
  const expected = "sqlite:, redis://, rediss://, redis+unix:, redis+sentinel:// or postgres://";
  throw new StoreError("wrong", `No store at "${hidePassword(address)}": the address must begin with ${expected}`);
}

/** An empty store for `jobs bench`, deleted when disposed. */
export interface Scratch extends AsyncDisposable {
  /** Its address, for `openStore`. */
  readonly url: string;
}

/** Options of a scratch store. */
export interface ScratchOptions {
  /** The only queue that the caller uses. */
  readonly queue: string;
  /** Receives a line at the end if the place can't be left empty. */
  readonly warn: (what: string) => void;
  /** SQLite: creates the folder of the store's file if it doesn't exist. Default true. */
  readonly create?: boolean;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * Creates an empty store next to the one at `url`: a database file in a folder next to its file, an empty database of its Redis
 * server, or another schema of its PostgreSQL database. The store itself is neither read nor changed.
 *
 * @throws {StoreError} if no place for it exists
 */
export async function openScratch(url: string, options: ScratchOptions): Promise<Scratch> {
  switch (kindOf(url)) {
    case "sqlite":
      return await (await import("./sqlite/scratch.ts")).sqliteScratch(url, options);
    case "redis":
      return await (await import("./redis/scratch.ts")).redisScratch(url, options);
    case "postgres":
      return await (await import("./postgres/scratch.ts")).postgresScratch(url, options);
  }
}
