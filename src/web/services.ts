/**
 * The services that all pages and the API use.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { Crontab } from "../client/crontab.ts";
import type { AuditBounds } from "./audit.ts";
import type { Clock } from "../clock.ts";
import type { Gateway } from "../remote/gateway.ts";
import type { Log } from "../log/log.ts";
import type { TokenUses } from "./auth/tokens.ts";
import type { Gate, Visitor } from "./auth/gate.ts";
import type { BodyBudget } from "./http/body.ts";
import type { EventStreams } from "./http/event_streams.ts";
import type { KnownQueues } from "./read/known_queues.ts";
import type { LiveStats } from "./read/live_stats.ts";
import type { Limiter } from "./http/limiter.ts";
import type { Mask } from "../text/mask.ts";
import type { RecentAlerts } from "./read/recent_alerts.ts";
import type { StuckBatches } from "./read/stuck_batches.ts";
import type { Operations } from "./operations.ts";
import type { RecentMetrics } from "./read/recent_metrics.ts";
import type { WorkerCounts } from "./prometheus/worker_metrics.ts";
import type { CooperativeQueue } from "./http/cooperative_queue.ts";
import type { Store } from "../store/admin/store.ts";

/** One setting as it was loaded. */
export interface SettingRow {
  readonly key: string;
  readonly value: unknown;
  /** The value as people write it, such as `30s`; absent where JSON is as readable. */
  readonly shown?: string;
  /** The source of the value: `default`, a file, a variable, `flag`. */
  readonly origin: string;
  readonly about: string;
}

/** Created once per process by {@linkcode createWeb}. */
export interface Services {
  readonly store: Store;
  readonly client: Client;
  readonly crontab: Crontab;
  readonly clock: Clock;
  readonly mask: Mask;
  readonly gate: Gate;
  /** Counts the requests of tokens. */
  readonly tokens: TokenUses;
  readonly feed: LiveStats;
  /** The streams of events that programs read. */
  readonly eventStreams: EventStreams;
  /** The queues that a token limited to classes may push to. */
  readonly queues: KnownQueues;
  readonly measures: RecentMetrics;
  readonly alerts: RecentAlerts;
  readonly stuck: StuckBatches;
  readonly operations: Operations;
  /** Bounds how many pages and API responses are made at the same time. */
  readonly limiter: Limiter;
  /** Bounds the memory of all request bodies. */
  readonly arriving: BodyBudget;
  /** Runs work that would hold the event loop. */
  readonly slices: CooperativeQueue;
  /** Logs every action. */
  readonly audit: Log;
  /** Bounds the audit entries of events that anyone can repeat. */
  readonly auditBounds: AuditBounds;
  /** Logs failures. */
  readonly log: Log;
  readonly settings: readonly SettingRow[];
  /** Classes that this process has handlers for; empty if it doesn't run jobs. */
  readonly classes: readonly string[];
  /** Returns the counters of this process and of the others under its supervisor; absent if they don't run jobs. */
  readonly counts: (() => Promise<readonly WorkerCounts[]>) | undefined;
  /** Returns why this process fetches no jobs now; undefined if it does. Absent in a process that never does. */
  readonly notReady: (() => string | undefined) | undefined;
  /** Returns the workers of other programs, which register here. Absent in a process that has none. */
  readonly gateway: (() => Promise<Gateway>) | undefined;
  /** The URL of a trace in a tracing UI, with `{traceId}`. */
  readonly traceUrl: string | undefined;
  /** Precedes every path: empty, or `/jobs`. */
  readonly prefix: string;
  readonly maxPayloadBytes: number;
}

/** Hono's variables of a request. */
export interface WebEnv {
  // deno-lint-ignore no-explicit-any -- Hono's constraint for environments is an index signature
  Bindings: any;
  Variables: { visitor: Visitor };
}
