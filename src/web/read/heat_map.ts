/**
 * The durations of a class over time, as a heat map: the runs of each step by bucket, in a few levels.
 *
 * @module
 */

/** The levels of cells with runs. */
export const HEAT_LEVELS = 6;
/** More steps than this are combined: a narrower column cannot be pointed at. */
const MAX_COLUMNS = 144;

/** A heat map. */
export interface HeatMap {
  /** The time that a column stands for. */
  readonly columnMs: number;
  /** The earliest first. */
  readonly columns: readonly HeatColumn[];
  /** The shortest and the longest bucket with runs. */
  readonly firstBucket: number;
  readonly lastBucket: number;
}

/** The runs of one column. */
export interface HeatColumn {
  readonly runs: number;
  /** Levels by bucket, the shortest first, from the first to the last bucket of the map: 0 without runs. */
  readonly levels: readonly number[];
  /** The bucket with the most runs; undefined without runs. */
  readonly topBucket: number | undefined;
}

/** Returns the heat map of histograms by step, the earliest first; undefined without runs. */
export function heatMap(histograms: readonly (readonly number[])[], stepMs: number): HeatMap | undefined {
  const perColumn = Math.max(1, Math.ceil(histograms.length / MAX_COLUMNS));
  const combined = Array.from(
    { length: Math.ceil(histograms.length / perColumn) },
    (_, i) => sumOf(histograms.slice(i * perColumn, (i + 1) * perColumn)),
  );
  const all = sumOf(combined);
  const firstBucket = all.findIndex((count) => count > 0);
  if (firstBucket < 0) return undefined;
  const lastBucket = all.findLastIndex((count) => count > 0);
  const max = Math.max(...combined.flat());
  const columns = combined.map((histogram): HeatColumn => {
    const runs = histogram.reduce((sum, count) => sum + count, 0);
    return {
      runs,
      // The root keeps rare long runs visible next to the usual ones.
      levels: histogram.slice(firstBucket, lastBucket + 1)
        .map((count) => Math.ceil(Math.sqrt(count / max) * HEAT_LEVELS)),
      topBucket: runs === 0 ? undefined : histogram.indexOf(Math.max(...histogram)),
    };
  });
  return { columnMs: stepMs * perColumn, columns, firstBucket, lastBucket };
}

function sumOf(histograms: readonly (readonly number[])[]): number[] {
  const length = Math.max(0, ...histograms.map((histogram) => histogram.length));
  return Array.from(
    { length },
    (_, bucket) => histograms.reduce((sum, histogram) => sum + (histogram[bucket] ?? 0), 0),
  );
}
