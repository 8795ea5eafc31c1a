/**
 * Opens tracing when it is on: the middleware, on the tracer provider of the program or on a new one.
 *
 * @module
 */
import { context, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { systemClock } from "../clock.ts";
import { VERSION } from "../version.ts";
import { performSpans, pushSpans, stepSpan } from "./spans.ts";
import { hasProvider, type Tracing, type TracingOptions } from "./tracing.ts";

/** Disposing waits at most this long for the remaining spans. */
const FLUSH_TIMEOUT_MS = 2_000;
const BRIEF_FLUSH_TIMEOUT_MS = 1_000;

/** Sets up the middleware and, unless the program has a tracer provider already, the export of spans. */
export async function openSpans(options: TracingOptions): Promise<Tracing> {
  const { style = "link", warn = () => {}, brief = false } = options;
  const flushMs = brief ? BRIEF_FLUSH_TIMEOUT_MS : FLUSH_TIMEOUT_MS;
  const sdk = hasProvider() ? undefined : (await import("./sdk.ts")).startSdk(warn, brief);
  const tracer = trace.getTracer("jobs", VERSION);
  const performed = performSpans(tracer, style);
  return {
    client: pushSpans(tracer),
    perform: performed.middleware,
    step: stepSpan(tracer),
    within: (carrier, run) => context.with(propagation.extract(ROOT_CONTEXT, carrier), run),
    async [Symbol.asyncDispose]() {
      performed.end();
      if (sdk === undefined) return;
      const ended = new AbortController();
      const late = systemClock.sleep(flushMs, ended.signal).then(() => {
        if (!ended.signal.aborted) warn(`Some traces were not exported within ${flushMs} ms and are lost`);
      });
      await Promise.race([sdk.stop().finally(() => ended.abort()), late]);
    },
  };
}
