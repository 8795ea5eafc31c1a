/**
 * Tracing as it is when it is on: the middleware, on the tracer provider of this program, or on one of our own.
 *
 * @module
 */
import { context, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { systemClock } from "../clock.ts";
import { VERSION } from "../version.ts";
import { performSpans } from "./perform.ts";
import { pushSpans } from "./push.ts";
import { hasProvider, type Tracing, type TracingOptions } from "./tracing.ts";

/** So long disposing waits for what is left to be exported. */
const FLUSH_MS = 2_000;
const BRIEF_FLUSH_MS = 1_000;

/** Sets the middleware up, and what exports the spans unless this program has that already. */
export async function openSpans(options: TracingOptions): Promise<Tracing> {
  const { style = "link", warn = () => {}, brief = false } = options;
  const flushMs = brief ? BRIEF_FLUSH_MS : FLUSH_MS;
  const sdk = hasProvider() ? undefined : (await import("./sdk.ts")).startSdk(warn, brief);
  const tracer = trace.getTracer("jobs", VERSION);
  const performed = performSpans(tracer, style);
  return {
    client: pushSpans(tracer),
    perform: performed.middleware,
    within: (carrier, run) => context.with(propagation.extract(ROOT_CONTEXT, carrier), run),
    async [Symbol.asyncDispose]() {
      performed.end();
      if (sdk === undefined) return;
      const over = new AbortController();
      const late = systemClock.sleep(flushMs, over.signal).then(() => {
        if (!over.signal.aborted) warn(`Traces could not all be exported within ${flushMs} ms; some are lost`);
      });
      await Promise.race([sdk.stop().finally(() => over.abort()), late]);
    },
  };
}
