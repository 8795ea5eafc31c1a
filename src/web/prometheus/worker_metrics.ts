/**
 * The part of `/metrics` that a server counts of itself: tries by class, rescues, leases lost, crontab, horses. Of several
 * processes under one supervisor each has series of its own: it starts again by itself, and its counters with it.
 *
 * @module
 */
import type { Durations } from "../../job/histogram.ts";
import { family, histogramSamples, type Kind, type Sample } from "./text.ts";

/** Endings for which `jobs_performed_total` does not stand, or only as `failed`. */
const ENDINGS = ["retried", "dead", "discarded", "cancelled", "expired", "snoozed"] as const;

/** What a server counts of one class. */
export interface ClassCounts {
  readonly endings: Readonly<Record<"done" | typeof ENDINGS[number], number>>;
  readonly run: Durations;
  readonly wait: Durations;
}

/** What a server counts, since it started. The server knows nothing of the web: who opens both hands it over. */
export interface ServerCounts {
  /** How tries ended, ran and had waited, by class; the number of classes has a bound. */
  readonly classes: ReadonlyMap<string, ClassCounts>;
  readonly occurrences: Readonly<Record<string, number>>;
  /** How late occurrences were enqueued. */
  readonly lateness: Durations;
  readonly rescued: number;
  readonly buried: number;
  readonly leasesLost: number;
  readonly deadDropped: number;
  readonly loopDelayMs: number;
  /** Absent when nothing runs in horses. */
  readonly horses:
    | { readonly running: number; readonly started: number; readonly renewed: number; readonly killed: number }
    | undefined;
}

/** What one process counts. */
export interface WorkerCounts {
  /** Its number among the processes of its supervisor, from 1; undefined for one without. */
  readonly process: number | undefined;
  /** Undefined when it did not say. */
  readonly counts: ServerCounts | undefined;
}

/** The families; where processes have numbers, every sample has them as its label `process`. */
export function serverFamilies(processes: readonly WorkerCounts[]): string[] {
  const told = processes.flatMap(({ process, counts }) => counts ? [{ labels: numbered(process), counts }] : []);
  const each = (name: string, kind: Kind, about: string, samples: (counts: ServerCounts) => readonly Sample[]) =>
    family(
      name,
      kind,
      about,
      told.flatMap(({ labels, counts }) =>
        samples(counts).map((sample) => ({ ...sample, labels: { ...labels, ...sample.labels } }))
      ),
    );
  const one = (name: string, kind: Kind, about: string, value: (counts: ServerCounts) => number) =>
    each(name, kind, about, (counts) => [{ value: value(counts) }]);
  const ofHorses = (name: string, kind: Kind, about: string, value: keyof NonNullable<ServerCounts["horses"]>) =>
    each(name, kind, about, ({ horses }) => horses ? [{ value: horses[value] }] : []);
  return [
    ...upFamilies(processes),
    each("jobs_performed_total", "counter", "Jobs this process performed, by class and outcome", performed),
    each("jobs_run_seconds", "histogram", "How long this process performed jobs", durations("run")),
    each("jobs_wait_seconds", "histogram", "How long jobs had waited in their queue", durations("wait")),
    each("jobs_ended_total", "counter", "Tries that did not end well, by class and what came of the job", ended),
    one("jobs_rescued_total", "counter", "Jobs of dead processes that this process gave back", (it) => it.rescued),
    one("jobs_buried_total", "counter", "Jobs that it buried: they keep killing their processes", (it) => it.buried),
    one("jobs_leases_lost_total", "counter", "Leases it lost: it was taken for dead", (it) => it.leasesLost),
    one("jobs_dead_dropped_total", "counter", "Dead jobs it dropped: too many, or too old", (it) => it.deadDropped),
    one(
      "jobs_event_loop_delay_seconds",
      "gauge",
      "For how long the last heartbeat's question was kept waiting",
      (it) => it.loopDelayMs / 1_000,
    ),
    each("jobs_cron_occurrences_total", "counter", "Occurrences that this process decided on", occurrences),
    each(
      "jobs_cron_lateness_seconds",
      "histogram",
      "How late occurrences were enqueued",
      (it) => histogramSamples(it.lateness),
    ),
    ...(told.some(({ counts }) => counts.horses)
      ? [
        ofHorses("jobs_horses", "gauge", "Horses that run", "running"),
        ofHorses("jobs_horses_started_total", "counter", "Horses started", "started"),
        ofHorses("jobs_horses_renewed_total", "counter", "Horses replaced after their share of jobs", "renewed"),
        ofHorses("jobs_horses_killed_total", "counter", "Horses killed for time or memory, or crashed", "killed"),
      ]
      : []),
  ];
}

/** Which of several answered; of one alone, that it is read says so. */
function upFamilies(processes: readonly WorkerCounts[]): string[] {
  const several = processes.filter(({ process }) => process !== undefined);
  if (several.length === 0) return [];
  const samples = several.map(({ process, counts }) => ({
    labels: numbered(process),
    value: Number(counts !== undefined),
  }));
  return [family("jobs_process_up", "gauge", "Whether this process said in time what it counts", samples)];
}

function numbered(process: number | undefined): Record<string, string> {
  return process === undefined ? {} : { process: String(process) };
}

function performed({ classes }: ServerCounts): Sample[] {
  return [...classes].flatMap(([name, { endings: { done, retried, dead, discarded } }]) => [
    { labels: { class: name, outcome: "ok" }, value: done },
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
