/**
 * Shares one call between all callers of the same moment.
 *
 * @module
 */

/** Returns a function whose concurrent callers share one call of `make`. Nothing is cached after that. */
export function singleFlight<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let pending: Promise<Result> | undefined;
  return () => pending ??= make().finally(() => pending = undefined);
}
