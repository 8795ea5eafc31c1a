/**
 * Middleware: an onion around pushing and around performing. The first one is the outermost.
 *
 * @module
 */
import type { JobRequest } from "../job/payload.ts";

/** One layer: does something before and after `next()`, or does not call it at all. */
export type Middleware<Context, Result> = (context: Context, next: () => Promise<Result>) => Promise<Result>;

/** Around a push. It may change the job; a push that it stops by not calling `next` stores nothing. */
export type PushMiddleware = Middleware<{ job: JobRequest }, string | undefined>;

/**
 * Around each batch of a bulk push, outside the push middleware of its jobs. What `next` resolves with is to be handed
 * on.
 */
export type BatchMiddleware = Middleware<{ readonly count: number }, unknown>;

/**
 * Makes one layer of several; of none it makes one that costs nothing.
 *
 * The one made rejects when a layer calls `next` twice: the job would be done twice.
 */
export function compose<Context, Result>(
  layers: readonly Middleware<Context, Result>[],
): Middleware<Context, Result> {
  if (layers.length === 0) return (_context, innermost) => innermost();
  return (context, innermost) => {
    let reached = -1;
    const enter = async (depth: number): Promise<Result> => {
      if (depth <= reached) throw new Error("Middleware called next() twice; wanted: once, or not at all");
      reached = depth;
      const layer = layers[depth];
      return layer ? await layer(context, () => enter(depth + 1)) : await innermost();
    };
    return enter(0);
  };
}
