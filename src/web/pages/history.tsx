/**
 * The chart of the days behind us: a bar for each, and the same as a table.
 *
 * @module
 */
import type { DayCount } from "../../store/admin/history.ts";
import { number } from "../../text/format.ts";
import { link, type View } from "./view.tsx";

const SPANS: readonly { readonly days: number; readonly label: string }[] = [
  { days: 7, label: "1 week" },
  { days: 30, label: "1 month" },
  { days: 90, label: "3 months" },
];
const DEFAULT_SPAN = SPANS[1]!;
const WIDTH = 1000;
const HEIGHT = 140;
/** Room above the highest bar, and for the axis. */
const TOP = 8;
const FOOT = 4;

/** How many days a page shows; what is none of the choices is the one in the middle. */
export function spanOf(text: string | undefined): number {
  return (SPANS.find(({ days }) => String(days) === text) ?? DEFAULT_SPAN).days;
}

/** The chart, with links to the other spans. */
export function HistoryChart({ view, days }: { readonly view: View; readonly days: readonly DayCount[] }) {
  const processed = days.reduce((sum, day) => sum + day.processed, 0);
  const failed = days.reduce((sum, day) => sum + day.failed, 0);
  const most = Math.max(0, ...days.map((day) => day.processed));
  return (
    <section aria-labelledby="history-title">
      <div class="heading">
        <h2 id="history-title">Jobs a day</h2>
        <span class="grow"></span>
        <nav class="spans" aria-label="How far back">
          {SPANS.map((span) => (
            <a
              href={link(view, "/", { days: span.days })}
              aria-current={span.days === days.length ? "true" : undefined}
            >
              {span.label}
            </a>
          ))}
        </nav>
      </div>
      <div id="history" data-live>
        <figure class="chart days">
          <svg
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={`Jobs finished and failed on each of the last ${days.length} days; the table below has the numbers`}
          >
            {days.map((day, i) => <Bar day={day} at={i / days.length} width={1 / days.length} most={most} />)}
            <line x1="0" y1={String(HEIGHT - FOOT)} x2={String(WIDTH)} y2={String(HEIGHT - FOOT)} class="axis" />
          </svg>
          <figcaption>
            <span class="key processed">
              finished <b>{number(processed)}</b>
            </span>
            <span class="key failed">
              failed <b>{number(failed)}</b>
            </span>
            <span class="grow"></span>
            <span>
              most <b>{number(most)}</b>
            </span>
            <span>
              {days[0]?.day} to {days.at(-1)?.day}, UTC
            </span>
          </figcaption>
          <details id="history-table">
            <summary>As a table</summary>
            <table class="list">
              <thead>
                <tr>
                  <th>Day</th>
                  <th class="num">Finished</th>
                  <th class="num">Failed</th>
                </tr>
              </thead>
              <tbody>
                {days.toReversed().map((day) => (
                  <tr>
                    <td data-label="Day">{day.day}</td>
                    <td class="num" data-label="Finished">{number(day.processed)}</td>
                    <td class="num" data-label="Failed">{number(day.failed)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </details>
        </figure>
      </div>
    </section>
  );
}

/** A day, as wide as it may be: what is above the bar answers to the pointer, too. */
function Bar({ day: { day, processed, failed }, at, width, most }: {
  readonly day: DayCount;
  readonly at: number;
  readonly width: number;
  readonly most: number;
}) {
  const x = at * WIDTH;
  const wide = width * WIDTH;
  const column = (count: number, kind: string) => {
    const height = most === 0 ? 0 : count / most * (HEIGHT - TOP - FOOT);
    // Few are seen beside many.
    const seen = count > 0 ? Math.max(2, height) : 0;
    return (
      <rect
        class={kind}
        x={(x + wide * 0.1).toFixed(1)}
        y={(HEIGHT - FOOT - seen).toFixed(1)}
        width={(wide * 0.8).toFixed(1)}
        height={seen.toFixed(1)}
      />
    );
  };
  return (
    <g>
      <title>{`${day}: ${number(processed)} finished, ${number(failed)} failed`}</title>
      <rect class="day" x={x.toFixed(1)} y="0" width={wide.toFixed(1)} height={String(HEIGHT - FOOT)} />
      {column(processed, "processed")}
      {failed > 0 && column(failed, "failed")}
    </g>
  );
}
