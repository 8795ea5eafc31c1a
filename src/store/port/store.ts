/**
 * The store port: everything that clients and workers require of a store of jobs, in parts.
 *
 * Three rules hold for every verb of every adapter:
 *  1. A verb is one atomic step (one transaction, one script) and takes one round trip, unless it says otherwise. A step happens
 *     completely or not at all. Verbs that read or change many things, such as `jobs.find` and `jobs.edit`, take several steps.
 *  2. A job is in exactly one place at every moment: one queue, one set, or one lease.
 *  3. Time is the store's. A verb that needs "now" reads the store's clock, never the caller's.
 *
 * Times are epoch milliseconds, durations milliseconds. Payloads are JSON text and are kept byte for byte; an adapter
 * changes one only by splicing a top-level field in (`src/job/raw.ts`).
 *
 * Round trips are those of a usual call to a server, such as Redis (`tests/store_redis_trips_test.ts` bounds them). A call takes more
 * if the connection broke, or jobs moved meanwhile. On SQLite, a verb is one transaction or one read, unless it says otherwise.
 *
 * Every verb throws {@linkcode StoreError} if the store can't execute it. Then the step that failed did nothing. If the connection
 * broke before the reply arrived, it is unknown whether the step happened.
 *
 * A third adapter is a folder next to `sqlite/` and `redis/`, a line in `open.ts`, and one file that runs the contract
 * suite (`tests/store_contract/`) on it.
 *
 * @module
 */
import type { BatchStore } from "./batches.ts";
import type { ClassStore } from "./classes.ts";
import type { CronStore } from "./cron.ts";
import type { EventStore } from "./events.ts";
import type { FlowStore } from "./flows.ts";
import type { JobStore } from "./jobs.ts";
import type { LogStore } from "./logs.ts";
import type { ResultStore } from "./results.ts";
import type { SeriesStore } from "./series.ts";
import type { StepStore } from "./steps.ts";
import type { StreamStore } from "./streams.ts";
import type { TransactionStore } from "./transactions.ts";
import type { Topic } from "./watch.ts";
import type { WebhookStore } from "./webhooks.ts";
import type { WorkerStore } from "./workers.ts";

/** The store for workers and clients. Operators have further parts: `Store` in `admin/store.ts`. Closing it ends every wait. */
export interface ServerStore extends AsyncDisposable {
  /** The address as given, without any password: for logs and messages. */
  readonly url: string;
  /** Jobs and leases. */
  readonly jobs: JobStore;
  /** Workers, their names, and commands to them. */
  readonly workers: WorkerStore;
  /** Cron entries. */
  readonly cron: CronStore;
  /** The steps of jobs, and the signals that they wait for. */
  readonly steps: StepStore;
  /** The chunks that running jobs stream. */
  readonly streams: StreamStore;
  /** Batches of jobs. */
  readonly batches: BatchStore;
  /** The graphs of batches whose members run after each other. */
  readonly flows: FlowStore;
  /** Records of ended jobs. */
  readonly results: ResultStore;
  /** The audit log, and the runs of cron entries. */
  readonly logs: LogStore;
  /** Sums of performed jobs, samples of queues, and totals of days. */
  readonly series: SeriesStore;
  /** Options that workers register for their job classes. */
  readonly classes: ClassStore;
  /** Which webhook gets which events. */
  readonly webhooks: WebhookStore;
  /** The log of events. */
  readonly events: EventStore;
  /** Verbs in transactions of an application. Only a store in a PostgreSQL database has them. */
  readonly transactions?: TransactionStore;

  /**
   * Resolves when the condition of a topic may hold, when `signal` aborts, or when the store closes. Doesn't poll an idle store
   * without need, and never rejects: an unreachable store changes nothing. May resolve for no reason.
   *
   * @returns true if the condition may hold; false if `signal` has aborted or the store is closed
   */
  watch(topic: Topic, signal: AbortSignal): Promise<boolean>;
}
