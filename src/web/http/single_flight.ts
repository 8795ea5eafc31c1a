/**
 * One answer for all who ask for it at the same moment.
 *
 * @module
 */

/** Who asks while an answer is being made is given that one; it is not kept. */
export function singleFlight<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | undefined;
  return () => underWay ??= make().finally(() => underWay = undefined);
}
