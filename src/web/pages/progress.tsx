/**
 * The progress of a running job, or of a batch.
 *
 * @module
 */

import { None } from "./view.tsx";

/** A progress text, with a bar if it begins with a percentage or a fraction: `40 %`, `3/10`, `64 of 8,000 rows`. */
export function Progress({ text, bad = 0 }: {
  readonly text: string | undefined;
  /** The part of the whole, 0 to 1, at the end of the bar that failed. */
  readonly bad?: number;
}) {
  if (!text) return <None />;
  const percentage = PERCENTAGE.exec(text);
  const fraction = FRACTION.exec(text);
  const share = percentage
    ? Number(percentage[1]) / 100
    : fraction
    ? count(fraction[1]!) / count(fraction[2]!)
    : undefined;
  if (share === undefined || !(share >= 0 && share <= 1)) return <span class="note">{text}</span>;
  return (
    <>
      <svg class="meter first" viewBox="0 0 72 6" preserveAspectRatio="none" aria-hidden="true">
        <rect width={(share * 72).toFixed(1)} height="6" />
        {bad > 0 && (
          <rect class="bad" x={(Math.max(0, share - bad) * 72).toFixed(1)} width={(bad * 72).toFixed(1)} height="6" />
        )}
      </svg>{" "}
      <span class="note">{fraction ? `${text} (${percent(share)})` : text}</span>
    </>
  );
}

const PERCENTAGE = /^(\d{1,3}(?:\.\d{1,20})?) ?(?:%|percent)/;
/** Counts may have separators of thousands. */
const FRACTION = /^(\d[\d,]{0,15}(?:\.\d{1,20})?) ?(?:\/|of) ?(\d[\d,]{0,15}(?:\.\d{1,20})?)(?!\d)/;

function count(text: string): number {
  return Number(text.replaceAll(",", ""));
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}
