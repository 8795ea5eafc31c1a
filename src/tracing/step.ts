/**
 * The span of a durable step that runs: a child of the span of its attempt. A step that is stored already has none.
 *
 * @module
 */
import type { Tracer } from "@opentelemetry/api";
import { verdictOf } from "../job/verdict.ts";
import { recordFailure } from "./attributes.ts";
import type { Tracing } from "./tracing.ts";

/** Returns the function that runs a step within a span. */
export function stepSpan(tracer: Tracer): Tracing["step"] {
  return ({ name, attempt }, run) => {
    const attributes = { "messaging.jobs.step": name, "messaging.jobs.step_attempt": attempt };
    return tracer.startActiveSpan(`step ${name}`, { attributes }, async (span) => {
      try {
        return await run();
      } catch (error) {
        // A Snooze or Discard is a decision, not a failure.
        if (verdictOf(error) === undefined) recordFailure(span, error);
        throw error;
      } finally {
        span.end();
      }
    });
  };
}
