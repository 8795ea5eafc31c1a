/**
 * The progress of a running job.
 *
 * @module
 */

import { None } from "./view.tsx";

/** A job's progress, with a bar if its text begins with a percentage or a fraction: `40 %`, `3/10`. */
export function Progress({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return <None />;
  const share = shareOf(text);
  return (
    <>
      {share !== undefined && (
        <svg class="meter first" viewBox="0 0 72 6" preserveAspectRatio="none" aria-hidden="true">
          <rect width={(share * 72).toFixed(1)} height="6" />
        </svg>
      )} <span class="note">{text}</span>
    </>
  );
}

/** Returns the share that a progress text states, 0 to 1; undefined when it states none. */
function shareOf(text: string): number | undefined {
  const percent = /^(\d{1,3}(?:\.\d{1,3})?) ?(?:%|percent)/.exec(text);
  const fraction = /^(\d{1,12}) ?(?:\/|of) ?(\d{1,12})(?!\d)/.exec(text);
  const share = percent ? Number(percent[1]) / 100 : fraction ? Number(fraction[1]) / Number(fraction[2]) : NaN;
  return share >= 0 && share <= 1 ? share : undefined;
}
