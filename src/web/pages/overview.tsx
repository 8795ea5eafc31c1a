/**
 * `/`: what there is, how it goes, and what needs somebody.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { Stats } from "../../store/admin/admin.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import type { DayCount } from "../../store/admin/history.ts";
import { number } from "../../text/format.ts";
import type { Sample } from "../read/live_stats.ts";
import type { Counts } from "../read/counts.ts";
import { link, Live, type View } from "./view.tsx";
import { chart } from "./chart.tsx";
import { HistoryChart } from "./history.tsx";
import { Layout } from "./layout.tsx";
import { WorkerTable } from "./workers.tsx";
import { QueueTable } from "./queues.tsx";
import type { WorkerInfo } from "../../store/port/workers.ts";

const TILES: readonly { name: keyof Counts; label: string; path: string; kind?: string }[] = [
  { name: "running", label: "Running", path: "/running" },
  { name: "queued", label: "Queued", path: "/queued" },
  { name: "scheduled", label: "Scheduled", path: "/scheduled" },
  { name: "retrying", label: "Retrying", path: "/retrying", kind: "warn" },
  { name: "dead", label: "Dead", path: "/dead", kind: "bad" },
  { name: "workers", label: "Workers online", path: "/workers" },
];

/** The overview. */
export function Overview({ view, processes, samples, days }: {
  readonly view: View;
  readonly processes: readonly WorkerInfo[];
  readonly samples: readonly Sample[];
  readonly days: readonly DayCount[];
}) {
  const concerns = attention(view.stats, processes, view.now);
  return (
    <Layout view={view} title="Overview">
      <h1 class="visually-hidden">Overview</h1>
      <dl class="tiles">
        {TILES.map(({ name, label, path, kind = "" }) => (
          <div class={view.counts[name] > 0 ? kind : ""}>
            <dt>{path ? <a href={link(view, path)}>{label}</a> : label}</dt>
            <dd>
              <Live name={name} value={view.counts[name]} />
            </dd>
          </div>
        ))}
      </dl>
      <div id="attention" data-live>
        {concerns.length > 0 && (
          <section class="attention" aria-labelledby="attention-title">
            <h2 id="attention-title">Needs attention</h2>
            <ul>
              {concerns.map(({ text, path }) => (
                <li>
                  <a href={link(view, path)}>{text}</a>
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
      <section aria-labelledby="rate-title">
        <h2 id="rate-title">Jobs a second</h2>
        {chart(samples, view.now)}
      </section>
      <HistoryChart view={view} days={days} />
      <section aria-labelledby="queues-title">
        <h2 id="queues-title">Queues</h2>
        <div id="queues" data-live>
          <QueueTable view={view} queues={view.stats.queues.toSorted((a, b) => b.size - a.size).slice(0, 20)} />
        </div>
        {view.stats.queues.length > 20 && (
          <p>
            <a href={link(view, "/queues")}>All {number(view.stats.queues.length)} queues</a>
          </p>
        )}
      </section>
      <section aria-labelledby="processes-title">
        <h2 id="processes-title">Processes</h2>
        <div id="workers" data-live>
          <WorkerTable view={view} workers={processes.slice(0, 20)} />
        </div>
      </section>
    </Layout>
  );
}

/** A queue whose oldest job is older than this is slow. */
const SLOW_MS = 60_000;

/** What somebody should look at. */
export function attention(
  stats: Stats,
  processes: readonly WorkerInfo[],
  now: number,
): readonly { readonly text: string; readonly path: string }[] {
  const live = processes.filter((process) => process.alive);
  const taken = new Set(live.filter((process) => !process.quiet).flatMap((process) => process.queues));
  const concerns: { text: string; path: string }[] = [];
  for (const { identity, beatAt } of processes.filter((process) => !process.alive).slice(0, 5)) {
    concerns.push({
      text: `${identity} has not been heard of for ${formatDuration(now - beatAt)}`,
      path: "/workers",
    });
  }
  if (live.length === 0 && stats.enqueued > 0) {
    concerns.push({ text: "Jobs wait, and no process runs", path: "/workers" });
  } else if (live.length > 0 && live.every((process) => process.quiet)) {
    concerns.push({ text: "All processes are quiet: nothing is taken", path: "/workers" });
  }
  if (stats.queues.some(({ name, paused }) => name === ALL_QUEUES && paused)) {
    concerns.push({ text: "All queues are paused: nothing is taken", path: "/queues" });
  }
  for (const { name, size, paused, latencyMs } of stats.queues) {
    if (size === 0 || concerns.length > 12) continue;
    const path = `/queues/${encodeURIComponent(name)}`;
    if (paused) concerns.push({ text: `Queue ${name} is paused, and ${number(size)} wait in it`, path });
    else if (live.length > 0 && !taken.has(name)) concerns.push({ text: `No process takes queue ${name}`, path });
    else if (latencyMs > SLOW_MS) {
      concerns.push({ text: `Queue ${name} is ${formatDuration(latencyMs)} behind`, path });
    }
  }
  return concerns;
}
