/**
 * An alert: a problem of the system, since when it lasts, and what helps. The dashboard and `jobs doctor` show the same ones.
 *
 * @module
 */
import type { CrontabEntry } from "../../client/crontab_entry.ts";
import type { HealthFinding } from "../../store/admin/health.ts";
import type { Stats } from "../../store/admin/admin.ts";
import type { StoreError } from "../../store/port/errors.ts";
import type { ClassMetricsSeries } from "../../store/port/metrics.ts";
import type { Declaration } from "../../store/port/classes.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import type { Batch } from "../../store/port/batches.ts";
import type { LastSet } from "../../store/admin/audit.ts";
import type { Stall } from "../../store/ops/stalls.ts";
import type { Crashes } from "../../text/crashes.ts";
import type { ProcessState } from "../../processes.ts";
import type { JobEnds } from "../query/cron_ends.ts";
import type { HeldGroup } from "../query/last_settings.ts";
import type { Backlog, QueueSizes } from "../query/backlog.ts";

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
  readonly about: "store" | "workers" | "queues" | "jobs" | "cron" | "batches";
  readonly title: string;
  /** Sentences. */
  readonly detail?: string;
  /** Alerts with the same one are folded into the first. */
  readonly cause?: string;
  /** The command that helps. */
  readonly command?: string;
  /** The best first: if it is a button, an operator sees that instead of the command. */
  readonly actions: readonly AlertAction[];
}

/** The totals at one moment. Two samples give a rate. */
export interface Sample extends QueueSizes {
  readonly processed: number;
  readonly failed: number;
  /** Jobs that waited for a retry. */
  readonly retrying: number;
}

/** Jobs without a handler. */
export interface Unhandled {
  readonly class: string;
  readonly queue: string;
  /** The jobs that were read are queued there, or scheduled: a worker that found no handler postponed them. */
  readonly isScheduled?: boolean;
  /** Since when the earliest of them that was read waits; undefined if that is unknown. */
  readonly since?: number | undefined;
  /** False if the queue has no worker, and none has ever had a handler for the class. Default true. */
  readonly isKnown?: boolean;
}

/** The latest runs of a cron entry, none of which was enqueued because the job of an earlier run hasn't ended. */
export interface HeldRuns {
  /** The job. */
  readonly jid: string;
  readonly count: number;
  /** The time of the first of them, in epoch milliseconds. */
  readonly since: number;
}

/** Writes of the store fail. Whatever would be written since then is missing in the rest of the state. */
export interface FailedWrite {
  readonly error: StoreError;
  /** Since when, in epoch milliseconds; undefined if that isn't known. */
  readonly since?: number | undefined;
  /** The address of the store. */
  readonly url: string;
}

/** The state that alerts are derived from. */
export interface Situation {
  readonly now: number;
  readonly stats: Stats;
  readonly engine: "sqlite" | "redis" | "postgres";
  /** The time that the store took to return `stats`. */
  readonly roundTripMs: number;
  /** Absent while writes succeed, as far as is known. */
  readonly failedWrite?: FailedWrite;
  readonly workers: readonly WorkerInfo[];
  /** The options and webhooks that workers have declared, the latest first. Default: none. */
  readonly declarations?: readonly Declaration[];
  /** The workers on this machine whose processes have ended or are stopped, by worker ID. */
  readonly processes: ReadonlyMap<string, ProcessState>;
  /** The attempts of each class in the last hour, by minute. */
  readonly metrics: readonly ClassMetricsSeries[];
  /** Today's totals. */
  readonly today: { readonly processed: number; readonly failed: number };
  /** Counts of the last minutes, the earliest first. */
  readonly samples: readonly Sample[];
  readonly cron: readonly CrontabEntry[];
  /** The runs in a row that unended jobs hold up, by entry, as far as they were read. */
  readonly cronHeld: ReadonlyMap<string, HeldRuns>;
  /** How the jobs of the entries' latest runs ended. */
  readonly cronEnds: JobEnds;
  /** Dead jobs that crashed their workers, the latest first. */
  readonly crashes: readonly {
    readonly class: string;
    readonly jid: string;
    readonly ref: string;
    readonly at: number;
  }[];
  /** Jobs that wait or run, and whose workers ended with them repeatedly. */
  readonly suspects: readonly ({ readonly class: string; readonly jid: string } & Crashes)[];
  /** Some of the jobs that wait for a retry, with the time of their first failure. */
  readonly retrying: readonly {
    readonly class: string;
    readonly queue: string;
    readonly since: number | undefined;
  }[];
  /** The queues of the scheduled and retrying jobs that were read. */
  readonly later: ReadonlySet<string>;
  /** Classes of waiting jobs for which no worker of their queue has a handler. */
  readonly unhandled: readonly Unhandled[];
  /** The last pause of each paused queue in the audit log, by the queue's name. */
  readonly pauses: ReadonlyMap<string, LastSet>;
  /** The last pause of each paused cron entry in the audit log, by the entry's name. */
  readonly cronPauses: ReadonlyMap<string, LastSet>;
  /** The last limit of each queue that is at its limit, by the queue's name. */
  readonly limits: ReadonlyMap<string, LastSet>;
  /** Some of the held groups of the queues that are behind, the slowest of each queue first. */
  readonly heldGroups: readonly HeldGroup[];
  /** How the queues move that are behind, by name, if they are few. */
  readonly backlogs: ReadonlyMap<string, Backlog>;
  /** Problems of the store's server that alerts report. */
  readonly serverFindings: readonly HealthFinding[];
  /** Batches and flows that wait for their dead members. */
  readonly stuck: readonly Batch[];
}

/** Alerts of each kind about single classes, entries, jobs or batches. Their pages show the rest. */
export const MAX_OF_A_KIND = 4;

/** Returns the {@linkcode Alert.cause} of alerts about a running job. Jobs of its class that run for long have the same one. */
export function stallCause({ is, worker, class: name }: Stall): string {
  return is === "running" ? `${is} ${name}` : `${is} ${worker}`;
}

/** The {@linkcode Alert.cause} of alerts while no worker is online. */
export const NO_WORKER = "no worker";

/** Returns the {@linkcode Alert.cause} of alerts about a queue that no worker fetches from; undefined if one does. */
export function unfetchedCause(queue: string, workers: Situation["workers"]): string | undefined {
  const online = workers.filter(({ alive }) => alive);
  if (online.length === 0) return NO_WORKER;
  return online.some(({ quiet, queues }) => !quiet && queues.includes(queue)) ? undefined : `unfetched ${queue}`;
}

/** Returns the detail of an alert that has none but a hint. */
export function hinted(hint: string | undefined): Pick<Alert, "detail"> {
  return hint === undefined ? {} : { detail: hint };
}

/** Returns a phrase as the beginning of a sentence. */
export function sentence(words: string): string {
  return `${words[0]!.toUpperCase()}${words.slice(1)}`;
}
