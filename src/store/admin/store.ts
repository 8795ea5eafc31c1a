/**
 * The store for operators: the parts for workers and clients, and those that only the command line and the dashboard use. A
 * worker has a `ServerStore`: its code can't name these parts.
 *
 * @module
 */
import type { ServerStore } from "../port/store.ts";
import type { AdminStore } from "./admin.ts";
import type { SessionStore } from "./sessions.ts";
import type { TransferStore } from "./transfer.ts";

/**
 * The store, with every part.
 *
 * @example
 * ```ts
 * import { openStore, type Store } from "@jobs/jobs";
 *
 * await using store: Store = await openStore("sqlite::memory:");
 * const { enqueued, dead } = await store.admin.stats();
 * await store.admin.configure("mail", { limit: { running: 5 } });
 * ```
 */
export interface Store extends ServerStore {
  /** Counts, lists and edits. */
  readonly admin: AdminStore;
  /** The key and the live sessions of dashboards. */
  readonly sessions: SessionStore;
  /** Hands everything to another store. */
  readonly transfer: TransferStore;
}
