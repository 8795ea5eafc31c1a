/**
 * The chart of jobs a second, drawn here and kept up to date by the page's script with the same rules.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { Sample } from "../read/live_stats.ts";

/** It shows as much as there is, within these; the script knows them too. */
const MIN_DURATION_MS = 60_000;
const MAX_DURATION_MS = 5 * 60_000;
const WIDTH = 1000;
const HEIGHT = 140;

/** The rate between two samples. */
interface Rate {
  readonly at: number;
  readonly processed: number;
  readonly failed: number;
}

/** The chart. */
export function chart(samples: readonly Sample[], now: number) {
  const shownSamples = samples.filter((sample) => sample.at > now - MAX_DURATION_MS);
  const spanMs = Math.max(MIN_DURATION_MS, now - (shownSamples[0]?.at ?? now));
  const rates = ratesOf(shownSamples);
  const top = Math.max(1, ...rates.map((rate) => rate.processed));
  const line = (value: (rate: Rate) => number) =>
    rates.map((rate) => {
      const x = WIDTH - (now - rate.at) / spanMs * WIDTH;
      return `${x.toFixed(1)},${(HEIGHT - 4 - value(rate) / top * (HEIGHT - 12)).toFixed(1)}`;
    }).join(" ");
  const latest = rates.at(-1);
  return (
    <figure class="chart" data-chart={JSON.stringify(samples)}>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label="Jobs finished and failed a second"
      >
        <line x1="0" y1={String(HEIGHT - 4)} x2={String(WIDTH)} y2={String(HEIGHT - 4)} class="axis" />
        <polygon points={area(line((rate) => rate.processed))} />
        <polyline class="processed" points={line((rate) => rate.processed)} />
        <polyline class="failed" points={line((rate) => rate.failed)} />
      </svg>
      <figcaption>
        <span class="key processed">
          finished <b data-rate="processed">{shown(latest?.processed)}</b>
        </span>
        <span class="key failed">
          failed <b data-rate="failed">{shown(latest?.failed)}</b>
        </span>
        <span class="grow"></span>
        <span>
          peak{" "}
          <b data-rate="top">
            {shown(rates.length > 0 ? Math.max(...rates.map((rate) => rate.processed)) : undefined)}
          </b>
        </span>
        <span>
          last <b data-rate="span">{formatDuration(spanMs)}</b>
        </span>
      </figcaption>
    </figure>
  );
}

/** What is under a line. */
function area(points: string): string {
  if (points === "") return "";
  const [first, last] = [points, points.slice(points.lastIndexOf(" ") + 1)].map((text) =>
    text.slice(0, text.indexOf(","))
  );
  return `${first},${HEIGHT - 4} ${points} ${last},${HEIGHT - 4}`;
}

function ratesOf(samples: readonly Sample[]): Rate[] {
  return samples.slice(1).map((sample, i) => {
    const before = samples[i]!;
    const seconds = Math.max(0.001, (sample.at - before.at) / 1_000);
    const rate = (name: "processed" | "failed") => Math.max(0, sample[name] - before[name]) / seconds;
    return { at: sample.at, processed: rate("processed"), failed: rate("failed") };
  });
}

function shown(rate: number | undefined): string {
  return rate === undefined ? "–" : rate >= 100 ? Math.round(rate).toLocaleString("en-US") : rate.toFixed(1);
}
