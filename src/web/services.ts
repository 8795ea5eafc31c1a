/**
 * The services: what all pages and the API work with.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { Crontab } from "../client/crontab.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log/log.ts";
import type { TokenUses } from "./auth/tokens.ts";
import type { Gate, Visitor } from "./auth/gate.ts";
import type { BodyBudget } from "./http/body.ts";
import type { LiveStats } from "./read/live_stats.ts";
import type { Limiter } from "./http/limiter.ts";
import type { Mask } from "./read/mask.ts";
import type { RecentAlerts } from "./read/alerts.ts";
import type { Operations } from "./actions/operations.ts";
import type { RecentMetrics } from "./read/recent_metrics.ts";
import type { WorkerCounts } from "./prometheus/worker_metrics.ts";
import type { CooperativeQueue } from "./http/cooperative_queue.ts";
import type { Store } from "../store/admin/store.ts";

/** One setting as it was loaded. */
export interface SettingRow {
  readonly key: string;
  readonly value: unknown;
  /** Where its value came from: `default`, a file, a variable, `flag`. */
  readonly origin: string;
  readonly about: string;
}

/** What there is to work with. */
export interface Services {
  readonly store: Store;
  readonly client: Client;
  readonly crontab: Crontab;
  readonly clock: Clock;
  readonly mask: Mask;
  readonly gate: Gate;
  /** How often tokens are used. */
  readonly tokens: TokenUses;
  readonly feed: LiveStats;
  readonly measures: RecentMetrics;
  readonly alerts: RecentAlerts;
  readonly operations: Operations;
  /** How many pages and API answers are made at the same time. */
  readonly limiter: Limiter;
  /** Bounds the memory of all request bodies. */
  readonly arriving: BodyBudget;
  /** For what holds the event loop. */
  readonly slices: CooperativeQueue;
  /** Where every action is written. */
  readonly audit: Log;
  /** Where failures are written. */
  readonly log: Log;
  readonly settings: readonly SettingRow[];
  /** Classes that this process has handlers for; empty when it has none of its own. */
  readonly classes: readonly string[];
  /** What this process counts of its own doing, if it performs jobs, and the others of its supervisor; answers soon. */
  readonly counts: (() => Promise<readonly WorkerCounts[]>) | undefined;
  /** Why this process takes no jobs now; undefined when it does. Absent for one that would not anyway. */
  readonly notReady: (() => string | undefined) | undefined;
  /** What stands before every path: empty, or `/jobs`. */
  readonly prefix: string;
  readonly maxPayloadBytes: number;
}

/** Hono's variables of one request. */
export interface WebEnv {
  // deno-lint-ignore no-explicit-any -- Hono's constraint for environments is an index signature
  Bindings: any;
  Variables: { visitor: Visitor };
}
