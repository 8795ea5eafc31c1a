/**
 * `/classes`: how each class has fared of late.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { ClassStats, Spread } from "../class_stats.ts";
import type { RecentEnded } from "../ended.ts";
import { BOUNDS } from "../meter.ts";
import { Empty, link, number, Time, type View } from "../view.tsx";
import { Layout } from "./layout.tsx";

/** The classes. */
export function ClassesPage({ view, recent, classes }: {
  readonly view: View;
  readonly recent: RecentEnded;
  readonly classes: readonly ClassStats[];
}) {
  const since = recent.rows.at(-1)?.ended_at;
  return (
    <Layout view={view} title="Classes">
      <div class="heading">
        <h1>Classes</h1>
        {recent.rows.length > 0 && (
          <span class="note">
            the last {number(recent.rows.length)} jobs that ended{recent.whole ? "" : " (there are more)"}, the oldest
            {" "}
            <Time at={since} now={view.now} />
          </span>
        )}
      </div>
      {classes.length === 0 ? <Empty>No job has left a record.</Empty> : <Table view={view} classes={classes} />}
    </Layout>
  );
}

function Table({ view, classes }: { readonly view: View; readonly classes: readonly ClassStats[] }) {
  return (
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
              <a class="class" href={link(view, "/done", { q: one.class })}>{one.class}</a>
            </td>
            <td class="num" data-label="Ended">{number(one.count)}</td>
            <td class={`num ${one.failed > 0 ? "bad" : ""}`} data-label="Failed">{share(one)}</td>
            <td class="num" data-label="Median">{shown(one.run, "p50")}</td>
            <td class="num" data-label="95 of 100">{shown(one.run, "p95")}</td>
            <td class="num" data-label="99 of 100">{shown(one.run, "p99")}</td>
            <td class="num" data-label="Longest">{shown(one.run, "longest")}</td>
            <td class="num" data-label="Waited">{shown(one.wait, "p95")}</td>
            <td data-label="Run times">
              <Bars counts={one.histogram} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function share({ failed, count }: ClassStats): string {
  return failed === 0 ? "0" : `${number(failed)} (${(failed / count * 100).toFixed(failed / count < 0.1 ? 1 : 0)} %)`;
}

function shown(spread: Spread | undefined, which: keyof Spread): string {
  return spread === undefined ? "–" : formatDuration(spread[which]);
}

const BAR = 9;

/** One bar for each bound; words for those who do not see it. */
function Bars({ counts }: { readonly counts: readonly number[] }) {
  const most = Math.max(1, ...counts);
  const words = counts.map((count, i) => {
    const bound = BOUNDS[i];
    return bound === undefined ? `${count} longer` : `${count} up to ${formatDuration(bound * 1_000)}`;
  }).filter((text) => !text.startsWith("0 ")).join(", ");
  return (
    <svg class="bars" viewBox={`0 0 ${counts.length * BAR} 24`} role="img" aria-label={words || "none"}>
      {counts.map((count, i) => {
        const height = count === 0 ? 1 : Math.max(2, count / most * 24);
        return (
          <rect x={String(i * BAR)} y={String(24 - height)} width={String(BAR - 2)} height={String(height)} rx="1" />
        );
      })}
      <title>{words}</title>
    </svg>
  );
}
