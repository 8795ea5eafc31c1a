/**
 * Progress reports of jobs, as text.
 *
 * @module
 */

/** Returns `40 percent`; handlers report any number, which is rounded. */
export function progressText({ done, note }: { readonly done: number; readonly note?: string | undefined }): string {
  // A small number would be rounded to 0.
  const rounded = Number(Math.abs(done) >= 1 ? done.toFixed(2) : done.toPrecision(2));
  return note ? `${rounded} ${note}` : `${rounded}`;
}
