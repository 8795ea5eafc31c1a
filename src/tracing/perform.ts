/**
 * The span of an attempt. It is active while the handler runs, so that the spans of the handler are its children, and the
 * jobs that the handler pushes are in its trace.
 *
 *  1. Each attempt has a span. It is linked to the span of the push, in a new trace; with `style: "child"` it is a child of
 *     that span.
 *  2. Horses and programs receive the span through the context of the job.
 *  3. The span of a job that was cancelled, released, lost or snoozed is not a failure.
 *
 * @module
 */
import {
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type TextMapGetter,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import type { JobTrace } from "../handlers/context.ts";
import type { PerformMiddleware } from "../handlers/handler.ts";
import { setTrace } from "../handlers/running_context.ts";
import { describeError } from "../job/describe_error.ts";
import { verdictOf } from "../job/verdict.ts";
import type { Payload } from "../job/job.ts";
import { jobAttributes, recordFailure } from "./attributes.ts";

/** Reads headers from a payload, whose fields may have any type. */
const FROM_PAYLOAD: TextMapGetter<Payload> = {
  keys: (payload) => Object.keys(payload),
  get: (payload, key) => {
    const value = Object.hasOwn(payload, key) ? payload[key] : undefined;
    return typeof value === "string" ? value : undefined;
  },
};

/**
 * Returns the middleware around performing, and a function that ends the spans of jobs that were released and still run.
 */
export function performSpans(tracer: Tracer, style: "link" | "child"): { middleware: PerformMiddleware; end(): void } {
  const open = new Set<Span>();
  const finish = (span: Span, outcome: string) => {
    if (!open.delete(span)) return;
    span.setAttribute("messaging.jobs.outcome", outcome).end();
  };
  const middleware: PerformMiddleware = async (job, next) => {
    const sent = propagation.extract(ROOT_CONTEXT, job.payload, FROM_PAYLOAD);
    const push = trace.getSpanContext(sent);
    const span = tracer.startSpan(`process ${job.queue}`, {
      kind: SpanKind.CONSUMER,
      attributes: { ...jobAttributes("process", job), "messaging.jobs.attempt": job.attempt },
      ...(style === "link" && { root: true, links: push === undefined ? [] : [{ context: push }] }),
    }, sent);
    open.add(span);
    const within = trace.setSpan(sent, span);
    setTrace(job, traceOf(span, (carrier) => propagation.inject(within, carrier)));
    try {
      const result = await context.with(within, next);
      job.throwIfAborted();
      finish(span, "succeeded");
      return result;
    } catch (error) {
      const thrown = job.signal.aborted ? job.signal.reason : error;
      const outcome = outcomeOf(thrown);
      // A released job may still end after `end` has ended its span.
      if (outcome === "failed" && open.has(span)) recordFailure(span, thrown);
      finish(span, outcome);
      throw error;
    }
  };
  return { middleware, end: () => open.forEach((span) => finish(span, "released")) };
}

function traceOf(span: Span, inject: (carrier: Record<string, string>) => void): JobTrace {
  const { traceId, spanId } = span.spanContext();
  const carrier: Record<string, string> = {};
  inject(carrier);
  return { traceId, spanId, carrier };
}

/** Returns the outcome of an attempt that threw. */
function outcomeOf(thrown: unknown): string {
  const outcome = OUTCOMES.get(describeError(thrown).class);
  return outcome ?? (verdictOf(thrown)?.kind === "snooze" ? "snoozed" : "failed");
}

/** The outcomes of reasons that are not failures of the job. */
const OUTCOMES: ReadonlyMap<string, string> = new Map([
  ["Shutdown", "released"],
  ["Cancelled", "cancelled"],
  ["LeaseLost", "lost"],
]);
