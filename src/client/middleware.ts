/**
 * Middleware around pushing and around performing. The first layer is the outermost.
 *
 * @module
 */
import type { JobRequest } from "../job/payload.ts";

/** One layer. It runs code before and after `next()`, or stops the call by not calling `next()`. */
export type Middleware<Context, Result> = (context: Context, next: () => Promise<Result>) => Promise<Result>;

/**
 * Wraps a push. It may change the job. If it doesn't call `next`, nothing is stored.
 *
 * @example
 * ```ts
 * import { type PushMiddleware } from "@jobs/jobs";
 *
 * const addTenant: PushMiddleware = (context, next) => {
 *   context.job = { ...context.job, tenant: "acme" };
 *   return next();
 * };
 * ```
 */
export type PushMiddleware = Middleware<{ job: JobRequest }, string | undefined>;

/**
 * Wraps each batch of a bulk push, outside the push middleware of its jobs. It must return the value that `next` resolves
 * with.
 */
export type BatchMiddleware = Middleware<{ readonly count: number }, unknown>;

/**
 * Composes layers into one. Without layers, the result calls the innermost function directly.
 *
 * @throws {Error} from the composed layer if a layer calls `next` twice: the job would be performed twice
 */
export function compose<Context, Result>(
  layers: readonly Middleware<Context, Result>[],
): Middleware<Context, Result> {
  if (layers.length === 0) return (_context, innermost) => innermost();
  return (context, innermost) => {
    let reached = -1;
    const enter = async (depth: number): Promise<Result> => {
      if (depth <= reached) throw new Error("Middleware called next() twice: call it once, or not at all");
      reached = depth;
      const layer = layers[depth];
      return layer ? await layer(context, () => enter(depth + 1)) : await innermost();
    };
    return enter(0);
  };
}
