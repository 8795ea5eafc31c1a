/**
 * Parses and formats durations.
 *
 * @module
 */

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The longest duration, a hundred years: a longer one is a mistake, and ends beyond what calendars and stores hold. */
export const MAX_DURATION_MS = 36_525 * 86_400_000;

/**
 * Returns the milliseconds of a duration such as `90` (seconds), `30s`, `5m`, `2h`, `1d`, `250ms`, `1h30m` or `1.5h`.
 *
 * @throws {RangeError} if the text is invalid, or more than 100 years
 */
export function parseDuration(text: string): number {
  const ms = read(text);
  if (!(ms <= MAX_DURATION_MS)) {
    const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    throw new RangeError(
      `Invalid duration "${shown}"; expected for example 90 (seconds), 250ms, 30s, 5m, 2h, 1d or 1h30m${boundOf(text)}`,
    );
  }
  return Math.round(ms);
}

/** Returns the bound that a text exceeds, to append to "expected …"; empty if it isn't a duration, or within the bound. */
export function boundOf(value: unknown): string {
  const ms = typeof value === "number" ? value * 1_000 : read(String(value));
  return ms > MAX_DURATION_MS ? ", at most 36525d (100 years)" : "";
}

/** Returns milliseconds; NaN if the text isn't a duration. */
function read(text: string): number {
  const trimmed = text.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Number(trimmed) * 1_000;
  if (!/^(\d+(\.\d+)?(ms|[smhd]))+$/.test(trimmed)) return NaN;
  let ms = 0;
  for (const [, number, unit] of trimmed.matchAll(/([\d.]+)([a-z]+)/g)) ms += Number(number) * UNITS_MS[unit!]!;
  return ms;
}

/** Returns a duration for people, in at most two units: `250ms`, `1.5s`, `3m20s`, `2h5m`, `4d1h`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)}ms`;
  if (ms < 59_950) return `${Number((ms / 1_000).toFixed(1))}s`;
  // At each bound, rounding to the smaller unit gives a whole larger unit.
  const [big, small] = ms < 3_599_500 ? ["m", "s"] : ms < 86_370_000 ? ["h", "m"] : ["d", "h"];
  const inSmall = Math.round(ms / UNITS_MS[small]!);
  const perBig = UNITS_MS[big]! / UNITS_MS[small]!;
  const rest = inSmall % perBig;
  return `${Math.floor(inSmall / perBig)}${big}${rest > 0 ? `${rest}${small}` : ""}`;
}
