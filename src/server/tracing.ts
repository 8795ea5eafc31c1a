/**
 * Tracing of a worker: its pushes and attempts have spans, if that is on.
 *
 * @module
 */
import type { Settings } from "../config/settings.ts";
import { logger } from "../log/log.ts";
import { openTracing, type Tracing } from "../tracing/tracing.ts";
import type { LauncherOptions } from "./launcher_options.ts";

/** Sets up tracing, if it is on. Dispose of it when the worker has stopped. */
export function openServerTracing({ traceStyle }: Settings): Promise<Tracing | undefined> {
  const log = logger("tracing");
  return openTracing({ style: traceStyle, warn: (message) => log.warn(message) });
}

/**
 * Returns middleware with that of tracing as the outermost.
 *
 * @param own the other middleware
 */
export function traced(
  tracing: Tracing | undefined,
  own: Pick<LauncherOptions, "pushMiddleware" | "performMiddleware"> = {},
): Pick<LauncherOptions, "pushMiddleware" | "batchMiddleware" | "performMiddleware" | "aroundStep"> {
  if (tracing === undefined) return own;
  const { client: { middleware, batchMiddleware }, perform } = tracing;
  return {
    aroundStep: (step, run) => tracing.step(step, run),
    batchMiddleware,
    pushMiddleware: [...middleware, ...own.pushMiddleware ?? []],
    performMiddleware: [perform, ...own.performMiddleware ?? []],
  };
}
