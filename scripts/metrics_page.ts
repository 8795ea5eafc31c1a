/**
 * The tables of metrics in docs/reference/metrics.md, generated from the families that `/metrics` exports. `deno task docs`
 * writes them, and a test fails if a metric or a label is missing.
 *
 * @module
 */
import { Client } from "../src/client/client.ts";
import { systemClock } from "../src/clock.ts";
import { openStore } from "../src/store/open.ts";
import { metricsText } from "../src/web/prometheus/metrics.ts";
import type { WorkerRecord } from "../src/store/port/workers.ts";
import type { ServerCounts } from "../src/web/prometheus/worker_metrics.ts";
import type { Services } from "../src/web/services.ts";

/** The page with the tables. */
export const PAGE: URL = new URL("../docs/reference/metrics.md", import.meta.url);

/** One row of a table. */
export interface Metric {
  /** With its labels: `jobs_queue_size{queue}`. */
  readonly name: string;
  /** `counter`, `gauge` or `histogram`. */
  readonly kind: string;
  readonly about: string;
}

const DURATIONS = { bounds: [1], counts: [0, 0], sum: 0 };

/** One class, outcome and isolated process, so that each family has a sample with all its labels. */
const COUNTS: ServerCounts = {
  classes: new Map([["A", {
    endings: { succeeded: 1, retried: 1, dead: 1, discarded: 1, cancelled: 1, expired: 1, snoozed: 1, unhandled: 1 },
    run: DURATIONS,
    wait: DURATIONS,
  }]]),
  occurrences: { enqueued: 1 },
  lateness: DURATIONS,
  rescued: 0,
  buried: 0,
  leasesLost: 0,
  deadDropped: 0,
  loopDelayMs: 0,
  horses: { running: 0, started: 0, renewed: 0, killed: 0 },
};

/** With an outbox. */
const WORKER: WorkerRecord = {
  ...{ id: "a:1:b", hostname: "a", pid: 1, tag: "", labels: [], queues: [], weights: {}, concurrency: 1, version: "1" },
  ...{ startedAt: 0, quiet: false, busy: 0, rss: 0, work: [], outbox: { waiting: 0, refused: 0, pushed: 0 } },
};

/** Returns the metrics of a process with these counters. */
async function exported(counts: Services["counts"]): Promise<Metric[]> {
  await using store = await openStore("sqlite::memory:");
  await new Client({ store, onUnregistered: () => {} }).push("A", [], { group: "a" });
  await store.workers.heartbeat(WORKER, 60_000);
  // One metric is of PostgreSQL alone.
  const health = async () => ({ ...await store.admin.health(), deadRows: { horizonAgeMs: 0, tables: { job: 0 } } });
  const asPostgres = { ...store, url: "postgres://", admin: { ...store.admin, health } };
  const text = await metricsText({ store: asPostgres, clock: systemClock, counts } as unknown as Services);
  return [...text.matchAll(/^# HELP (\S+) (.*)\.\n# TYPE \S+ (\S+)\n.*?(?:\{(.*?)\})? \S+$/gm)].map(
    ([, name, about, kind, inside = ""]) => {
      const labels = [...inside.matchAll(/(\w+)="/g)].map(([, label]) => label!).filter((label) => label !== "le");
      return { name: labels.length === 0 ? name! : `${name}{${labels.join(",")}}`, kind: kind!, about: about! };
    },
  );
}

/** Returns the metrics by table: those of the store, and those that workers add. */
export async function metrics(): Promise<Readonly<Record<"store" | "workers", readonly Metric[]>>> {
  const of = (process: number | undefined) => exported(() => Promise.resolve([{ process, counts: COUNTS }]));
  const store = await exported(undefined);
  const workers = (await of(undefined)).slice(store.length);
  const supervised = (await of(1)).filter(({ name }) => name === "jobs_process_up{process}");
  return { store, workers: [...workers, ...supervised] };
}

function table(rows: readonly Metric[]): string {
  const all = [["metric", "type", "meaning"], ...rows.map(({ name, kind, about }) => [`\`${name}\``, kind, about])];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`;
  return [line(all[0]!), line(widths.map((width) => "-".repeat(width))), ...all.slice(1).map(line)].join("\n");
}

/**
 * Returns the page with current tables.
 *
 * @throws {Error} if the page lacks the lines that enclose a table
 */
export async function withMetrics(page: string): Promise<string> {
  let text = page;
  for (const [name, rows] of Object.entries(await metrics())) {
    const [begin, end] = [`<!-- ${name}: written by \`deno task docs\` -->`, `<!-- end of ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`"${PAGE.pathname}" lacks the line "${begin}" or "${end}"`);
    text = `${text.slice(0, from)}${begin}\n\n${table(rows)}\n\n${text.slice(to)}`;
  }
  return text;
}

if (import.meta.main) await Deno.writeTextFile(PAGE, await withMetrics(await Deno.readTextFile(PAGE)));
