/**
 * `/classes` and `/classes/NAME`: the runs of each class, their durations and failures.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { type MetricsWindow, RUN_BOUNDS_MS, WINDOWS } from "../../store/port/metrics.ts";
import { number } from "../../text/format.ts";
import type { Chart } from "../read/charts.ts";
import type { ClassMeasures, MeasuredClasses } from "../read/class_metrics.ts";
import type { ClassStats } from "../read/class_stats.ts";
import type { HeatMap } from "../read/heat_map.ts";
import { Bars } from "./bars.tsx";
import { CHART_SCRIPTS, ChartFigure } from "./charts.tsx";
import { bucketText, HeatMapFigure } from "./heat_map.tsx";
import { Layout } from "./layout.tsx";
import { ArgsSchemaSection } from "./payload.tsx";
import { Empty, link, type View } from "./view.tsx";

/** The windows, as the choice names them. */
const WINDOW_LABELS: Readonly<Record<MetricsWindow, string>> = {
  "1h": "1 h",
  "8h": "8 h",
  "24h": "24 h",
  "72h": "72 h",
};

/** The orders of the table, each by a value of the class, the largest first. */
const SORTS = {
  runs: (one) => one.processed,
  rate: (one) => one.processed,
  failed: (one) => one.failed / Math.max(1, one.processed),
  p50: (one) => one.p50Ms ?? 0,
  p95: (one) => one.p95Ms ?? 0,
  p99: (one) => one.p99Ms ?? 0,
  total: (one) => one.workedMs,
} as const satisfies Record<string, (one: ClassMeasures) => number>;

/** The name of an order. */
export type ClassSort = keyof typeof SORTS;

/** Returns the order that a URL names; default by the number of runs. */
export function classSortOf(text: string | undefined): ClassSort {
  return text !== undefined && Object.hasOwn(SORTS, text) ? text as ClassSort : "runs";
}

/** The classes. */
export function ClassesPage({ view, measured, sort }: {
  readonly view: View;
  readonly measured: MeasuredClasses;
  readonly sort: ClassSort;
}) {
  const classes = measured.classes.toSorted((a, b) => SORTS[sort](b) - SORTS[sort](a));
  return (
    <Layout view={view} title="Classes">
      <div class="heading">
        <h1>Classes</h1>
        <span class="note">
          {number(classes.length + measured.more)} {classes.length + measured.more === 1 ? "class" : "classes"}
        </span>
        <span class="grow"></span>
        <Windows view={view} path="/classes" window={measured.window} query={{ sort }} />
      </div>
      {classes.length === 0
        ? (
          <Empty title="No jobs ran in this time.">
            Workers record the runs of each class once a minute. Start one with <code>jobs run handlers.js</code>.
          </Empty>
        )
        : <ClassTable view={view} classes={classes} window={measured.window} sort={sort} />}
      {measured.more > 0 && <p class="note">{number(measured.more)} more classes had fewer runs.</p>}
      {classes.length > 0 && (
        <p class="note">
          Each attempt is a run. Durations are those of successful runs, estimated from histogram buckets.
        </p>
      )}
    </Layout>
  );
}

function Windows({ view, path, window, query = {} }: {
  readonly view: View;
  readonly path: string;
  readonly window: MetricsWindow;
  readonly query?: Readonly<Record<string, string>>;
}) {
  return (
    <nav class="choice" aria-label="Range">
      {Object.entries(WINDOW_LABELS).map(([name, label]) => (
        <a href={link(view, path, { ...query, over: name })} aria-current={name === window ? "true" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}

function ClassTable({ view, classes, window, sort }: {
  readonly view: View;
  readonly classes: readonly ClassMeasures[];
  readonly window: MetricsWindow;
  readonly sort: ClassSort;
}) {
  const { stepMs, steps } = WINDOWS[window];
  const minutes = stepMs * steps / 60_000;
  const heading = (name: ClassSort, label: string) => (
    <th class="num" aria-sort={name === sort ? "descending" : undefined}>
      <a href={link(view, "/classes", { over: window, sort: name })}>{label}{name === sort ? " ↓" : ""}</a>
    </th>
  );
  return (
    <div class="wide-list" role="region" aria-label="Runs of each class" tabindex={0}>
      <table class="list">
        <thead>
          <tr>
            <th>Class</th>
            {heading("runs", "Runs")}
            {heading("rate", "per min")}
            {heading("failed", "Failed")}
            {heading("p50", "p50")}
            {heading("p95", "p95")}
            {heading("p99", "p99")}
            {heading("total", "Successful time")}
            <th>Runs over time</th>
          </tr>
        </thead>
        <tbody>
          {classes.map((one) => (
            <tr>
              <td class="name" data-label="Class" title={one.class}>
                <a class="class" href={classPath(view, one.class, window)}>{one.class}</a>
              </td>
              <td class="num" data-label="Runs">{number(one.processed)}</td>
              <td class="num" data-label="per min">{rate(one.processed / minutes)}</td>
              <td class={`num ${one.failed > 0 ? "bad" : ""}`} data-label="Failed">
                {one.failed === 0 ? "0" : (
                  <a href={link(view, "/retrying", { by: "error", class: one.class })}>
                    {share(one.failed, one.processed)}
                  </a>
                )}
              </td>
              <td class="num" data-label="p50">{estimate(one.p50Ms)}</td>
              <td class="num" data-label="p95">{estimate(one.p95Ms)}</td>
              <td class="num" data-label="p99">{estimate(one.p99Ms)}</td>
              <td class="num" data-label="Successful time">{formatDuration(one.workedMs)}</td>
              <td data-label="Over time">
                <OverTime one={one} stepMs={stepMs} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classPath(view: View, name: string, window: MetricsWindow): string {
  return link(view, `/classes/${encodeURIComponent(name)}`, { over: window });
}

/** The most bars of a sparkline. */
const MAX_BARS = 60;

function OverTime({ one, stepMs }: { readonly one: ClassMeasures; readonly stepMs: number }) {
  const perBar = Math.ceil(one.series.length / MAX_BARS);
  const bars = Array.from(
    { length: Math.ceil(one.series.length / perBar) },
    (_, i) => one.series.slice(i * perBar, (i + 1) * perBar).reduce((sum, count) => sum + count, 0),
  );
  return (
    <Bars counts={bars} width={3} label={`max ${number(Math.max(...bars))} in ${formatDuration(stepMs * perBar)}`} />
  );
}

/** One class. */
export function ClassPage({ view, name, window, one, recent, charts, heat, schema }: {
  readonly view: View;
  readonly name: string;
  readonly window: MetricsWindow;
  /** Its runs; undefined when there were none in the window. */
  readonly one: ClassMeasures | undefined;
  /** From the records of its jobs that have ended; undefined when there are none. */
  readonly recent: ClassStats | undefined;
  readonly charts: readonly Chart[];
  /** The durations of successful runs; undefined when there were none. */
  readonly heat: HeatMap | undefined;
  /** The schema of its arguments; undefined when it declares none. */
  readonly schema: string | undefined;
}) {
  const path = `/classes/${encodeURIComponent(name)}`;
  return (
    <Layout view={view} title={name} scripts={CHART_SCRIPTS}>
      <div class="heading">
        <a class="crumb" href={link(view, "/classes")}>Classes</a>
        <h1>{name}</h1>
        <span class="grow"></span>
        <a class="button" href={link(view, "/retrying", { class: name })}>Retrying</a>
        <a class="button" href={link(view, "/dead", { class: name })}>Dead</a>
        <a class="button" href={link(view, "/finished", { q: name })}>Finished</a>
        <Windows view={view} path={path} window={window} />
      </div>
      {one === undefined ? <Empty title="No runs in this time.">Choose a longer range, or see its jobs.</Empty> : (
        <>
          <dl class="tiles">
            <Tile label="Runs" value={number(one.processed)} />
            <Tile
              label={`Failed (${number(one.failed)})`}
              value={`${(one.failed / Math.max(1, one.processed) * 100).toFixed(1)} %`}
            />
            <Tile label="p50" value={estimate(one.p50Ms)} />
            <Tile label="p95" value={estimate(one.p95Ms)} />
            <Tile label="p99" value={estimate(one.p99Ms)} />
            {recent?.wait && <Tile label="p95 wait" value={formatDuration(recent.wait.p95)} />}
            <Tile label="Successful time" value={formatDuration(one.workedMs)} />
          </dl>
          <div class="charts">{charts.map((chart) => <ChartFigure chart={chart} />)}</div>
          {heat !== undefined && <HeatMapFigure map={heat} now={view.now} />}
          <Histogram one={one} />
        </>
      )}
      <ArgsSchemaSection schema={schema} />
    </Layout>
  );
}

function Tile({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** How many runs took how long: one row for each bucket from the first to the last that has any. */
function Histogram({ one: { histogram } }: { readonly one: ClassMeasures }) {
  const first = histogram.findIndex((count) => count > 0);
  if (first < 0) return null;
  const last = histogram.findLastIndex((count) => count > 0);
  const max = Math.max(...histogram);
  const total = histogram.reduce((sum, count) => sum + count, 0);
  return (
    <section aria-labelledby="histogram-title">
      <h2 id="histogram-title">Histogram of durations</h2>
      <table class="list histogram">
        <thead>
          <tr>
            <th class="num">Duration</th>
            <th class="num">Runs</th>
            <th class="num">Share</th>
            <th>
              <span class="visually-hidden">Bar</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {histogram.slice(first, last + 1).map((count, i) => (
            <tr>
              <td class="num" data-label="Duration">{bucketText(first + i)}</td>
              <td class="num" data-label="Runs">{number(count)}</td>
              <td class="num" data-label="Share">{(count / total * 100).toFixed(1)} %</td>
              <td class="bar">
                <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                  <rect width={(count / max * 100).toFixed(1)} height="10" rx="1" />
                </svg>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Jobs per minute. */
function rate(value: number): string {
  return value >= 100 ? number(Math.round(value)) : value >= 0.95 ? value.toFixed(1) : value.toPrecision(1);
}

/** An estimated duration; below the first bucket's bound, or beyond the last's, only that is known. */
function estimate(ms: number | undefined): string {
  if (ms === undefined) return "–";
  if (ms <= RUN_BOUNDS_MS[0]!) return `< ${formatDuration(RUN_BOUNDS_MS[0]!)}`;
  const last = RUN_BOUNDS_MS.at(-1)!;
  return ms >= last ? `> ${formatDuration(last)}` : formatDuration(ms);
}

function share(failed: number, count: number): string {
  return `${number(failed)} (${(failed / count * 100).toFixed(failed / count < 0.1 ? 1 : 0)} %)`;
}
