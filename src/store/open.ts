/**
 * A store's address → the store. The only importer of the adapters, and it loads only the one that is asked for:
 * `jobs push` on SQLite never reads a line of the Redis client.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Store } from "./admin/store.ts";
import { StoreError } from "./port/errors.ts";

/** How to open a store. Everything but `clock` and `log` can be sent to a Worker. */
export interface StoreOptions {
  /** Jobs kept in `dead`; default 10,000. */
  readonly deadMaxJobs?: number;
  /** How long a job is kept in `dead`; default 180 days. */
  readonly deadMaxAgeMs?: number;
  /** SQLite: `full` (default) survives a power cut; `normal` may lose the last moments' pushes to one. */
  readonly durability?: "full" | "normal";
  /** How long a verb waits for a lock that another program holds, or for a connection; default 10,000. */
  readonly waitMs?: number;
  /** Redis: maximum pause between two attempts to connect, before jitter of up to a half; default 2,000. */
  readonly maxBackoffMs?: number;
  /** Payload times as Sidekiq 8 writes them (`8`: integer milliseconds) or as all read them (`7`, the default: seconds with a fraction). */
  readonly sidekiqWire?: 7 | 8;
  /** SQLite: whether to make the file, and its folder, where there is none; default true. */
  readonly create?: boolean;
  /** Where the store reads the time; default the system's. On Redis only the difference to the system's clock counts. */
  readonly clock?: Clock;
  /** Told of what happens to the store itself: connection down and up, waiting for a lock. */
  readonly log?: (level: "info" | "warn" | "error", message: string) => void;
}

/**
 * Opens the store at `url`: `sqlite:PATH`, `redis://…`, `rediss://…`, `redis+unix:PATH`.
 *
 * @throws {StoreError} when the address is of no known kind, or the store cannot be opened
 */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  const scheme = url.slice(0, url.indexOf(":"));
  switch (scheme) {
    case "sqlite": {
      const { openSqlite } = await import("./sqlite/open.ts");
      return await openSqlite(url, options);
    }
    case "redis":
    case "rediss":
    case "redis+unix":
    case "redis+sentinel": {
      const { openRedis } = await import("./redis/open.ts");
      return await openRedis(url, options);
    }
    default:
      throw new StoreError(
        "wrong",
        `No store at "${
          hidePassword(url)
        }": the address must begin with sqlite:, redis://, rediss://, redis+unix: or redis+sentinel://`,
      );
  }
}

/** An address as it may be shown: its passwords are `***`, also one with characters that it should not have. */
export function hidePassword(url: string): string {
  return url.replace(/(\/\/[^:@/]*:).*@/s, "$1***@").replace(/([?&]sentinel_password=)[^&]*/, "$1***");
}
