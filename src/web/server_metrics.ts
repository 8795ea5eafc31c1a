/**
 * The part of `/metrics` that a server counts of itself: tries by class, rescues, leases lost, crontab, horses.
 *
 * @module
 */
import type { Durations } from "../job/histogram.ts";
import { family, histogramSamples, one } from "./metrics_text.ts";

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

/** The families. */
export function serverFamilies(counts: ServerCounts): string[] {
  const { horses, lateness } = counts;
  const occurrences = Object.entries(counts.occurrences).map(([outcome, value]) => ({ labels: { outcome }, value }));
  return [
    ...classFamilies([...counts.classes]),
    one("jobs_rescued_total", "counter", "Jobs of dead processes that this process gave back", counts.rescued),
    one("jobs_buried_total", "counter", "Jobs that it buried: their processes died too often", counts.buried),
    one("jobs_leases_lost_total", "counter", "Leases it lost: it was taken for dead", counts.leasesLost),
    one("jobs_dead_dropped_total", "counter", "Dead jobs it dropped: too many, or too old", counts.deadDropped),
    one(
      "jobs_event_loop_delay_seconds",
      "gauge",
      "For how long the last heartbeat's question was kept waiting",
      counts.loopDelayMs / 1_000,
    ),
    family("jobs_cron_occurrences_total", "counter", "Occurrences that this process decided on", occurrences),
    family("jobs_cron_lateness_seconds", "histogram", "How late occurrences were enqueued", histogramSamples(lateness)),
    ...(horses
      ? [
        one("jobs_horses", "gauge", "Horses that run", horses.running),
        one("jobs_horses_started_total", "counter", "Horses started", horses.started),
        one("jobs_horses_renewed_total", "counter", "Horses replaced after their share of jobs", horses.renewed),
        one("jobs_horses_killed_total", "counter", "Horses killed for time or memory, or crashed", horses.killed),
      ]
      : []),
  ];
}

function classFamilies(classes: readonly (readonly [string, ClassCounts])[]): string[] {
  const performed = classes.flatMap(([name, { endings: { done, retried, dead, discarded } }]) => [
    { labels: { class: name, outcome: "ok" }, value: done },
    { labels: { class: name, outcome: "failed" }, value: retried + dead + discarded },
  ]);
  const ended = classes.flatMap(([name, { endings }]) =>
    ENDINGS.flatMap((outcome) =>
      endings[outcome] ? [{ labels: { class: name, outcome }, value: endings[outcome] }] : []
    )
  );
  const histogram = (what: "run" | "wait") =>
    classes.flatMap(([name, counted]) => histogramSamples(counted[what], { class: name }));
  return [
    family("jobs_performed_total", "counter", "Jobs this process performed, by class and outcome", performed),
    family("jobs_run_seconds", "histogram", "How long this process performed jobs", histogram("run")),
    family("jobs_wait_seconds", "histogram", "How long jobs had waited in their queue", histogram("wait")),
    family("jobs_ended_total", "counter", "Tries that did not end well, by class and what came of the job", ended),
  ];
}
