/**
 * Charts: drawn by `assets/charts.js` with uPlot; a table for visitors without scripts, and for screen readers.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { number } from "../../text/format.ts";
import type { Chart } from "../read/charts.ts";

/** The scripts that a page with charts loads. */
export const CHART_SCRIPTS: readonly string[] = ["uplot.js", "charts.js"];

const DAY_S = 86_400;

/** A chart with its table. */
export function ChartFigure({ chart }: { readonly chart: Chart }) {
  // A line of zeros has been recorded: the queue was empty. Bars of zeros are steps without jobs.
  const isEmpty = chart.series.every(({ values }) =>
    values.every((value) => value === null || chart.bars && value === 0)
  );
  return (
    <figure class={`chart series-${chart.series.length}`} id={`chart-${chart.id}`} data-chart={JSON.stringify(chart)}>
      <h2>{chart.title}</h2>
      <div class="plot script-only" aria-hidden="true"></div>
      {isEmpty && (
        <p class="note">
          {chart.bars ? "No job ended" : "Nothing was recorded"} in this time. Workers record once a minute.
        </p>
      )}
      <details id={`table-${chart.id}`} hidden={isEmpty}>
        <summary>Show as a table</summary>
        <table class="list">
          <thead>
            <tr>
              <th>{chart.stepS >= DAY_S ? "Day (UTC)" : "Time (UTC)"}</th>
              {chart.series.map(({ label }) => <th class="num">{label}</th>)}
            </tr>
          </thead>
          <tbody>
            {rowsOf(chart).map(({ at, values }) => (
              <tr>
                <td data-label={chart.stepS >= DAY_S ? "Day" : "Time"}>{at}</td>
                {values.map((value, i) => (
                  <td class="num" data-label={chart.series[i]!.label}>{shown(value, chart.unit)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

/** The steps with a value, the latest first. */
function rowsOf({ times, stepS, bars, series }: Chart): { at: string; values: (number | null)[] }[] {
  return times.map((time, i) => ({
    at: new Date(time * 1_000).toISOString().slice(0, stepS >= DAY_S ? 10 : 16).replace("T", " "),
    values: series.map(({ values }) => values[i] ?? null),
  })).filter(({ values }) => stepS >= DAY_S || values.some((value) => value !== null && !(bars && value === 0)))
    .reverse();
}

function shown(value: number | null, unit: Chart["unit"]): string {
  if (value === null) return "–";
  return unit === "ms" ? formatDuration(value) : number(value);
}
