/**
 * A small row of bars within a table: a histogram or a series.
 *
 * @module
 */

const HEIGHT = 20;

/** One bar for each count. `label` is what a screen reader says. */
export function Bars({ counts, width, label, kind = "" }: {
  readonly counts: readonly number[];
  /** The width of a bar with the gap after it. */
  readonly width: number;
  readonly label: string;
  readonly kind?: "" | "failed";
}) {
  const max = Math.max(1, ...counts);
  const bar = (count: number, i: number) => {
    const top = HEIGHT - Math.max(2, count / max * HEIGHT);
    return count === 0 ? "" : `M${i * width} ${HEIGHT}V${top.toFixed(1)}h${width - (width > 4 ? 1.5 : 1)}V${HEIGHT}z`;
  };
  return (
    <svg
      class={`bars ${kind}`}
      viewBox={`0 0 ${counts.length * width} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path d={`M0 ${HEIGHT - 1}h${counts.length * width}v1H0z${counts.map(bar).join("")}`} />
      <title>{label}</title>
    </svg>
  );
}
