/**
 * Sparklines and meters of block characters.
 *
 * @module
 */

const BARS = "▁▂▃▄▅▆▇█";

/**
 * Returns the last `width` values as bars from 0 to the highest of them, the latest to the right; spaces stand for missing
 * values.
 */
export function sparkline(values: readonly number[], width: number): string {
  const shown = width > 0 ? values.slice(-width) : [];
  const highest = Math.max(1e-9, ...shown);
  const bars = shown.map((value) =>
    value <= 0 ? BARS[0] : BARS[Math.max(1, Math.ceil(value / highest * (BARS.length - 1)))]
  );
  return bars.join("").padStart(width);
}

/** Returns the share of `part` in `whole` as a bar of `width` characters. */
export function meter(part: number, whole: number, width: number): string {
  const share = whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0;
  const filled = part > 0 ? Math.max(1, Math.round(share * width)) : 0;
  return "■".repeat(filled).padEnd(width, "·");
}
