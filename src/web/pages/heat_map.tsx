/**
 * A heat map of durations over time, as an SVG. Each column names its runs on hover.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { RUN_BOUNDS_MS } from "../../store/port/metrics.ts";
import { number } from "../../text/format.ts";
import { HEAT_LEVELS, type HeatMap } from "../read/heat_map.ts";

/** The height of a row in pixels. The labels at the left have the same. */
const ROW_PX = 16;
/** The labels below. */
const TIME_LABELS = 5;

/** The map; `now` is the end of its last column. */
export function HeatMapFigure({ map, now }: { readonly map: HeatMap; readonly now: number }) {
  const { columns, columnMs, firstBucket, lastBucket } = map;
  const buckets = Array.from({ length: lastBucket - firstBucket + 1 }, (_, i) => lastBucket - i);
  const start = now - columns.length * columnMs;
  const span = columns.length * columnMs;
  return (
    <figure class="chart heat">
      <h2>Durations over time</h2>
      <div class="heat-body">
        <ol aria-hidden="true">{buckets.map((bucket) => <li>{bucketText(bucket)}</li>)}</ol>
        <svg
          viewBox={`0 0 ${columns.length} ${buckets.length}`}
          height={buckets.length * ROW_PX}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Runs by duration, from ${bucketText(firstBucket)} to ${
            bucketText(lastBucket)
          }; the histogram below has the numbers`}
        >
          {Array.from({ length: HEAT_LEVELS }, (_, i) => <path class={`level-${i + 1}`} d={cellsOf(map, i + 1)} />)}
          {columns.map(({ runs, topBucket }, i) => (
            <rect x={i} width="1" height={buckets.length}>
              <title>{columnText(start + i * columnMs, runs, topBucket)}</title>
            </rect>
          ))}
        </svg>
        <div class="heat-times" aria-hidden="true">
          {Array.from({ length: TIME_LABELS }, (_, i) => {
            const ago = span * (TIME_LABELS - 1 - i) / (TIME_LABELS - 1);
            return <span>{ago === 0 ? "now" : `${formatDuration(ago)} ago`}</span>;
          })}
        </div>
      </div>
    </figure>
  );
}

/** The path of the cells of a level. Cells next to each other in a row are one rectangle. */
function cellsOf({ columns, firstBucket, lastBucket }: HeatMap, level: number): string {
  let path = "";
  for (let row = 0; row <= lastBucket - firstBucket; row++) {
    const y = lastBucket - firstBucket - row;
    for (let x = 0; x < columns.length; x++) {
      const from = x;
      while (x < columns.length && columns[x]!.levels[row] === level) x++;
      if (x > from) path += `M${from} ${y}h${x - from}v1h${from - x}z`;
    }
  }
  return path;
}

function columnText(at: number, runs: number, topBucket: number | undefined): string {
  const time = `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  if (topBucket === undefined) return `${time}: no runs`;
  return `${time}: ${number(runs)} ${runs === 1 ? "run" : "runs"}, most ${bucketText(topBucket)}`;
}

/** Returns the durations of a bucket: `≤ 150ms`. */
export function bucketText(bucket: number): string {
  const bound = RUN_BOUNDS_MS[bucket];
  return bound === undefined ? `> ${formatDuration(RUN_BOUNDS_MS.at(-1)!)}` : `≤ ${formatDuration(bound)}`;
}
