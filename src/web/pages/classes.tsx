/**
 * `/classes`: how each class has fared of late: what was measured of all jobs, and what the records of some tell.
 *
 * @module
 */
import type { Child } from "hono/jsx";
import { formatDuration } from "../../job/duration.ts";
import { JOB_BOUNDS } from "../../job/histogram.ts";
import { RUN_BOUNDS_MS, WINDOWS } from "../../store/port/metrics.ts";
import { number } from "../../text/format.ts";
import type { ClassMeasures, MeasuredClasses } from "../read/class_metrics.ts";
import type { ClassStats, Spread } from "../read/class_stats.ts";
import type { RecentEnded } from "../read/results.ts";
import { Empty, link, Time, type View } from "./view.tsx";
import { Layout } from "./layout.tsx";

/** The classes. */
export function ClassesPage({ view, measured, recent, classes }: {
  readonly view: View;
  readonly measured: MeasuredClasses;
  readonly recent: RecentEnded;
  readonly classes: readonly ClassStats[];
}) {
  const since = recent.rows.at(-1)?.ended_at;
  return (
    <Layout view={view} title="Classes">
      <div class="heading">
        <h1>Classes</h1>
        <span class="note">
          all jobs of the last {WORDS[measured.window]}; each try counts, times are of those that did not fail
        </span>
        <span class="grow"></span>
        <nav class="spans" aria-label="How far back">
          {Object.entries(WORDS).map(([window, words]) => (
            <a
              href={link(view, "/classes", { over: window })}
              aria-current={window === measured.window ? "true" : undefined}
            >
              {words}
            </a>
          ))}
        </nav>
      </div>
      {measured.classes.length === 0
        ? <Empty title="No jobs ran in this time.">Workers record the runs of each class once a minute.</Empty>
        : <MeasuresTable view={view} measured={measured} />}
      {recent.rows.length > 0 && (
        <section aria-labelledby="records-title">
          <div class="heading">
            <h2 id="records-title">From records</h2>
            <span class="note">
              the last {number(recent.rows.length)} jobs that left one{recent.whole ? "" : " (there are more)"},{" "}
              the oldest <Time at={since} now={view.now} />
            </span>
          </div>
          <p class="note">
            Here each job counts once, with its own run time, failed ones too: the figures differ from those above.
          </p>
          <Table view={view} classes={classes} />
        </section>
      )}
    </Layout>
  );
}

const WORDS = { "1h": "hour", "8h": "8 hours", "24h": "24 hours", "72h": "72 hours" } as const;

function MeasuresTable({ view, measured }: { readonly view: View; readonly measured: MeasuredClasses }) {
  const { stepMs, steps } = WINDOWS[measured.window];
  const minutes = stepMs * steps / 60_000;
  return (
    <>
      <Wide label="What was measured of each class">
        <table class="list">
          <thead>
            <tr>
              <th>Class</th>
              <th class="num">Performed</th>
              <th class="num">A minute</th>
              <th class="num">Failed</th>
              <th class="num">Took in all</th>
              <th class="num">Mean</th>
              <th class="num">Median</th>
              <th class="num">95 of 100</th>
              <th class="num">99 of 100</th>
              <th>Run times</th>
              <th>Over time</th>
            </tr>
          </thead>
          <tbody>
            {measured.classes.map((one) => (
              <tr>
                <td data-label="Class">
                  <a class="class" href={link(view, "/finished", { q: one.class })}>{one.class}</a>
                </td>
                <td class="num" data-label="Performed">{number(one.processed)}</td>
                <td class="num" data-label="A minute">{rate(one.processed / minutes)}</td>
                <td class={`num ${one.failed > 0 ? "bad" : ""}`} data-label="Failed">
                  {share(one.failed, one.processed)}
                </td>
                <td class="num" data-label="Took in all">{time(one.workedMs)}</td>
                <td class="num" data-label="Mean">{time(one.meanMs)}</td>
                <td class="num" data-label="Median">{estimate(one.p50Ms)}</td>
                <td class="num" data-label="95 of 100">{estimate(one.p95Ms)}</td>
                <td class="num" data-label="99 of 100">{estimate(one.p99Ms)}</td>
                <td data-label="Run times">
                  <Bars counts={one.histogram} words={(count, i) => runWords(count, RUN_BOUNDS_MS[i])} wide={5} />
                </td>
                <td data-label="Over time">
                  <OverTime one={one} stepMs={stepMs} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      <p class="note">
        Run times are counted by their bounds, not one by one: “≈” is an estimate between two bounds.
      </p>
      {measured.more > 0 && <p class="note">{number(measured.more)} more classes had fewer jobs.</p>}
    </>
  );
}

/** So many bars are enough for any span. */
const MAX_BARS = 60;

function OverTime({ one, stepMs }: { readonly one: ClassMeasures; readonly stepMs: number }) {
  const perBar = Math.ceil(one.series.length / MAX_BARS);
  const bars = Array.from(
    { length: Math.ceil(one.series.length / perBar) },
    (_, i) => one.series.slice(i * perBar, (i + 1) * perBar).reduce((sum, count) => sum + count, 0),
  );
  const most = Math.max(...bars);
  const words = `at most ${number(most)} in ${formatDuration(stepMs * perBar)}`;
  return <Bars counts={bars} words={() => words} wide={3} label={words} />;
}

/** Jobs a minute. */
function rate(value: number): string {
  return value >= 100 ? number(Math.round(value)) : value >= 0.95 ? value.toFixed(1) : value.toPrecision(1);
}

function time(ms: number | undefined): string {
  return ms === undefined ? "–" : formatDuration(ms);
}

/** What is below the first bound, or beyond the last, is known only to be that. */
function estimate(ms: number | undefined): string {
  if (ms !== undefined && ms <= RUN_BOUNDS_MS[0]!) return `< ${time(RUN_BOUNDS_MS[0])}`;
  if (ms === undefined) return "–";
  return `${ms >= RUN_BOUNDS_MS.at(-1)! ? ">" : "≈"} ${time(Math.min(ms, RUN_BOUNDS_MS.at(-1)!))}`;
}

function Table({ view, classes }: { readonly view: View; readonly classes: readonly ClassStats[] }) {
  return (
    <Wide label="What records tell of each class">
      <table class="list">
        <thead>
          <tr>
            <th>Class</th>
            <th class="num">Ended</th>
            <th class="num">Failed</th>
            <th class="num">Ran, median</th>
            <th class="num">95 of 100</th>
            <th class="num">99 of 100</th>
            <th class="num">Longest</th>
            <th class="num">Waited, 95 of 100</th>
            <th>Run times</th>
          </tr>
        </thead>
        <tbody>
          {classes.map((one) => (
            <tr>
              <td data-label="Class">
                <a class="class" href={link(view, "/finished", { q: one.class })}>{one.class}</a>
              </td>
              <td class="num" data-label="Ended">{number(one.count)}</td>
              <td class={`num ${one.failed > 0 ? "bad" : ""}`} data-label="Failed">{share(one.failed, one.count)}</td>
              <td class="num" data-label="Median">{shown(one.run, "p50")}</td>
              <td class="num" data-label="95 of 100">{shown(one.run, "p95")}</td>
              <td class="num" data-label="99 of 100">{shown(one.run, "p99")}</td>
              <td class="num" data-label="Longest">{shown(one.run, "longest")}</td>
              <td class="num" data-label="Waited">{shown(one.wait, "p95")}</td>
              <td data-label="Run times">
                <Bars
                  counts={one.histogram}
                  words={(count, i) => runWords(count, JOB_BOUNDS[i] && JOB_BOUNDS[i] * 1_000)}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

/** A table with so many columns that a small window shows only some of them: it is moved, not the page. */
function Wide({ label, children }: { readonly label: string; readonly children: Child }) {
  return <div class="wide-list" role="region" aria-label={label} tabindex={0}>{children}</div>;
}

function share(failed: number, count: number): string {
  return failed === 0 ? "0" : `${number(failed)} (${(failed / count * 100).toFixed(failed / count < 0.1 ? 1 : 0)} %)`;
}

function shown(spread: Spread | undefined, which: keyof Spread): string {
  return spread === undefined ? "–" : formatDuration(spread[which]);
}

function runWords(count: number, boundMs: number | undefined): string {
  return boundMs === undefined ? `${number(count)} longer` : `${number(count)} up to ${formatDuration(boundMs)}`;
}

/** A bar for each count; words for those who do not see them. */
function Bars({ counts, words, wide = 9, label }: {
  readonly counts: readonly number[];
  readonly words: (count: number, i: number) => string;
  /** Of a bar, with the gap after it. */
  readonly wide?: number;
  /** Instead of all words. */
  readonly label?: string;
}) {
  const most = Math.max(1, ...counts);
  const text = label ?? (counts.flatMap((count, i) => count > 0 ? [words(count, i)] : []).join(", ") || "none");
  const bar = (count: number, i: number) => {
    const top = 24 - Math.max(2, count / most * 24);
    return count === 0 ? "" : `M${i * wide} 24V${top.toFixed(1)}h${wide - (wide > 4 ? 2 : 1)}V24z`;
  };
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${counts.length * wide} 24`}
      preserveAspectRatio="none"
      role="img"
      aria-label={text}
    >
      <path d={`M0 23h${counts.length * wide}v1H0z${counts.map(bar).join("")}`} />
      <title>{text}</title>
    </svg>
  );
}
