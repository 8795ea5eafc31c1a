/**
 * The store as operators see it: what workers and clients have, and the parts that only the command line and the dashboard
 * use. The server has a `ServerStore`: it cannot name these parts.
 *
 * @module
 */
import type { ServerStore } from "../port/store.ts";
import type { AdminStore } from "./admin.ts";
import type { AuditStore } from "./audit.ts";
import type { MigrationStore } from "./migration.ts";
import type { QueueSampler } from "./queue_samples.ts";

/** The store, with every part. */
export interface Store extends ServerStore {
  /** Counts, lists and edits. */
  readonly admin: AdminStore;
  /** How deep queues were, for charts. */
  readonly queueSamples: QueueSampler;
  /** The audit log. */
  readonly audit: AuditStore;
  /** Moving everything to another store. */
  readonly migration: MigrationStore;
}
