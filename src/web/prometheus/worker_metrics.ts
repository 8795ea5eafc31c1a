/**
 * The part of `/metrics` that workers count: attempts by class, rescues, lost leases, cron runs, isolated processes. Each
 * of several processes under a supervisor has separate series, because a restart resets the counters of one process only.
 *
 * @module
 */
import type { Durations } from "../../job/histogram.ts";
import { family, histogramSamples, type Kind, type Sample } from "./text.ts";

/** Outcomes that `jobs_performed_total` doesn't count, or counts as `failed` only. */
const ENDINGS = ["retried", "dead", "discarded", "cancelled", "expired", "snoozed", "unhandled"] as const;

export interface ClassCounts {
  readonly endings: Readonly<Record<"succeeded" | typeof ENDINGS[number], number>>;
  readonly run: Durations;
  readonly wait: Durations;
}

/** The counters of a worker since its start. Defined here because the worker doesn't depend on the dashboard. */
export interface ServerCounts {
  /** Outcomes, durations and wait times of attempts by class. The number of classes has a bound. */
  readonly classes: ReadonlyMap<string, ClassCounts>;
  readonly occurrences: Readonly<Record<string, number>>;
  /** Delays between scheduled and actual cron runs. */
  readonly lateness: Durations;
  readonly rescued: number;
  readonly buried: number;
  readonly leasesLost: number;
  readonly deadDropped: number;
  readonly loopDelayMs: number;
  /** Isolated processes. Absent without isolated jobs. */
  readonly horses:
    | { readonly running: number; readonly started: number; readonly renewed: number; readonly killed: number }
    | undefined;
}

export interface WorkerCounts {
  /** The number among the processes of its supervisor, from 1; undefined without a supervisor. */
  readonly process: number | undefined;
  /** Undefined if the process didn't respond in time. */
  readonly counts: ServerCounts | undefined;
}

/** Returns the families. With a supervisor, every sample has the label `process`. */
export function serverFamilies(processes: readonly WorkerCounts[]): string[] {
  const known = processes.flatMap(({ process, counts }) => counts ? [{ labels: numbered(process), counts }] : []);
  const each = (name: string, kind: Kind, about: string, samples: (counts: ServerCounts) => readonly Sample[]) =>
    family(
      name,
      kind,
      about,
      known.flatMap(({ labels, counts }) =>
        samples(counts).map((sample) => ({ ...sample, labels: { ...labels, ...sample.labels } }))
      ),
    );
  const one = (name: string, kind: Kind, about: string, value: (counts: ServerCounts) => number) =>
    each(name, kind, about, (counts) => [{ value: value(counts) }]);
  const ofHorses = (name: string, kind: Kind, about: string, value: keyof NonNullable<ServerCounts["horses"]>) =>
    each(name, kind, about, ({ horses }) => horses ? [{ value: horses[value] }] : []);
  return [
    ...upFamilies(processes),
    each("jobs_performed_total", "counter", "Attempts of this worker by class, succeeded or failed", performed),
    each("jobs_run_seconds", "histogram", "Durations of attempts", durations("run")),
    each("jobs_wait_seconds", "histogram", "Times that jobs waited in their queue", durations("wait")),
    each("jobs_ended_total", "counter", "Attempts that didn't succeed, by class and outcome", ended),
    one("jobs_rescued_total", "counter", "Jobs of offline workers that this worker rescued", (it) => it.rescued),
    one(
      "jobs_dead_by_crashes_total",
      "counter",
      "Jobs moved to dead because they crash their workers",
      (it) => it.buried,
    ),
    one("jobs_leases_lost_total", "counter", "Jobs lost because the heartbeat lapsed", (it) => it.leasesLost),
    one("jobs_dead_deleted_total", "counter", "Dead jobs deleted: too many, or too old", (it) => it.deadDropped),
    one(
      "jobs_event_loop_delay_seconds",
      "gauge",
      "Delay of the event loop at the last heartbeat",
      (it) => it.loopDelayMs / 1_000,
    ),
    each("jobs_cron_occurrences_total", "counter", "Cron runs that this worker decided on, by outcome", occurrences),
    each(
      "jobs_cron_lateness_seconds",
      "histogram",
      "Delays between scheduled and actual cron runs",
      (it) => histogramSamples(it.lateness),
    ),
    ...(known.some(({ counts }) => counts.horses)
      ? [
        ofHorses("jobs_isolated_processes", "gauge", "Isolated processes", "running"),
        ofHorses("jobs_isolated_processes_started_total", "counter", "Isolated processes started", "started"),
        ofHorses(
          "jobs_isolated_processes_replaced_total",
          "counter",
          "Isolated processes replaced after their share of jobs",
          "renewed",
        ),
        ofHorses(
          "jobs_isolated_processes_killed_total",
          "counter",
          "Isolated processes killed for time or memory, or crashed",
          "killed",
        ),
      ]
      : []),
  ];
}

/** Returns which of several processes responded. A single process has no such family: a successful scrape says the same. */
function upFamilies(processes: readonly WorkerCounts[]): string[] {
  const several = processes.filter(({ process }) => process !== undefined);
  if (several.length === 0) return [];
  const samples = several.map(({ process, counts }) => ({
    labels: numbered(process),
    value: Number(counts !== undefined),
  }));
  return [family("jobs_process_up", "gauge", "Whether this process reported its counters in time", samples)];
}

function numbered(process: number | undefined): Record<string, string> {
  return process === undefined ? {} : { process: String(process) };
}

function performed({ classes }: ServerCounts): Sample[] {
  return [...classes].flatMap(([name, { endings: { succeeded, retried, dead, discarded } }]) => [
    { labels: { class: name, outcome: "succeeded" }, value: succeeded },
    { labels: { class: name, outcome: "failed" }, value: retried + dead + discarded },
  ]);
}

function ended({ classes }: ServerCounts): Sample[] {
  return [...classes].flatMap(([name, { endings }]) =>
    ENDINGS.flatMap((outcome) =>
      endings[outcome] ? [{ labels: { class: name, outcome }, value: endings[outcome] }] : []
    )
  );
}

function durations(what: "run" | "wait") {
  return ({ classes }: ServerCounts): Sample[] =>
    [...classes].flatMap(([name, counted]) => histogramSamples(counted[what], { class: name }));
}

function occurrences(counts: ServerCounts): Sample[] {
  return Object.entries(counts.occurrences).map(([outcome, value]) => ({ labels: { outcome }, value }));
}
