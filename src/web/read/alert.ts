/**
 * An alert: a problem of the system with the action that helps, and the state that alerts are derived from.
 *
 * @module
 */
import type { CrontabEntry } from "../../client/crontab.ts";
import type { Stats } from "../../store/admin/admin.ts";
import type { ClassMetricsSeries } from "../../store/port/metrics.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import type { JobEnds } from "./cron_ends.ts";
import type { Sample } from "./live_stats.ts";

/** A link to the page where the problem is solved, or a button that solves it. */
export interface AlertAction {
  readonly label: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Whether it is a button that acts, for operators. Default: a link. */
  readonly acts?: boolean;
  /** The fields of the button's form. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** One problem. */
export interface Alert {
  /** `bad`: jobs are failing or standing still. `warn`: they may be soon. */
  readonly kind: "bad" | "warn";
  readonly title: string;
  readonly detail?: string;
  /** A command that helps; it follows the detail. */
  readonly command?: string;
  readonly actions: readonly AlertAction[];
}

/** The state that alerts are derived from. */
export interface Situation {
  readonly now: number;
  readonly stats: Stats;
  readonly workers: readonly WorkerInfo[];
  /** The attempts of each class in the last hour, by minute. */
  readonly metrics: readonly ClassMetricsSeries[];
  /** Today's totals. */
  readonly today: { readonly processed: number; readonly failed: number };
  /** Counts of the last minutes, the earliest first. */
  readonly samples: readonly Sample[];
  readonly cron: readonly CrontabEntry[];
  /** How the jobs of the entries' latest runs ended. */
  readonly cronEnds: JobEnds;
  /** Dead jobs that crashed their workers, the latest first. */
  readonly crashes: readonly {
    readonly class: string;
    readonly jid: string;
    readonly ref: string;
    readonly at: number;
  }[];
  /** Classes of waiting jobs for which no worker of their queue has a handler, with that queue. */
  readonly unhandled: readonly { readonly class: string; readonly queue: string }[];
}
