/**
 * Traces of a server: where they are on, its pushes and performs have spans.
 *
 * @module
 */
import type { Settings } from "../config/settings.ts";
import { logger } from "../log/log.ts";
import { openTracing, type Tracing } from "../tracing/tracing.ts";
import type { LauncherOptions } from "./launcher_options.ts";

/** Sets tracing up, where it is on. To be disposed of when the server has stopped. */
export function openServerTracing({ traceStyle }: Settings): Promise<Tracing | undefined> {
  const log = logger("tracing");
  return openTracing({ style: traceStyle, warn: (message) => log.warn(message) });
}

/**
 * The middleware of a server, with that of tracing as the outermost.
 *
 * @param own what there is besides
 */
export function traced(
  tracing: Tracing | undefined,
  own: Pick<LauncherOptions, "pushMiddleware" | "performMiddleware"> = {},
): Pick<LauncherOptions, "pushMiddleware" | "batchMiddleware" | "performMiddleware"> {
  if (tracing === undefined) return own;
  const { client: { middleware, batchMiddleware }, perform } = tracing;
  return {
    batchMiddleware,
    pushMiddleware: [...middleware, ...own.pushMiddleware ?? []],
    performMiddleware: [perform, ...own.performMiddleware ?? []],
  };
}
