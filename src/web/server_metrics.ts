/**
 * The part of `/metrics` that a server counts of itself: how tries ended, rescues, leases lost, crontab, horses.
 *
 * @module
 */
import { family, one, type Sample } from "./metrics_text.ts";

/** What a server counts, since it started. The server knows nothing of the web: who opens both hands it over. */
export interface ServerCounts {
  /** How tries ended, by class; the number of classes has a bound. */
  readonly endings: ReadonlyMap<string, Readonly<Record<string, number>>>;
  readonly occurrences: Readonly<Record<string, number>>;
  /** How late occurrences were enqueued: counts by bound in seconds, each by itself, the last one open. */
  readonly lateness: { readonly bounds: readonly number[]; readonly counts: readonly number[]; readonly sum: number };
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

/** Endings for which `jobs_performed_total` does not stand. */
const ENDINGS = ["retried", "dead", "discarded", "cancelled", "expired", "snoozed"] as const;

/** The families. */
export function serverFamilies(counts: ServerCounts): string[] {
  const { horses, lateness } = counts;
  const endings = [...counts.endings].flatMap(([name, endings]) =>
    ENDINGS.flatMap((outcome) =>
      endings[outcome] ? [{ labels: { class: name, outcome }, value: endings[outcome] }] : []
    )
  );
  const occurrences = Object.entries(counts.occurrences).map(([outcome, value]) => ({ labels: { outcome }, value }));
  return [
    family("jobs_ended_total", "counter", "Tries that did not end well, by class and what came of the job", endings),
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
    family("jobs_cron_lateness_seconds", "histogram", "How late occurrences were enqueued", latenessSamples(lateness)),
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

function latenessSamples({ bounds, counts, sum }: ServerCounts["lateness"]): Sample[] {
  let count = 0;
  const buckets = counts.map((own, i) => {
    count += own;
    return { suffix: "_bucket", labels: { le: i < bounds.length ? String(bounds[i]) : "+Inf" }, value: count };
  });
  return [...buckets, { suffix: "_sum", value: sum }, { suffix: "_count", value: count }];
}
