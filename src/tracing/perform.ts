/**
 * The span of a perform: from before the handler to its end. It is the active one meanwhile, so that what the handler
 * traces is its child, and the jobs it pushes are in its trace.
 *
 *  1. It is linked to the span of the push, in a trace of its own; or, if asked, that span's child. Each try has a span.
 *  2. What runs elsewhere, in a horse or as a program, learns of it by the job's context.
 *  3. A job that was cancelled, given back, lost or snoozed has not failed.
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
import { setTrace } from "../handlers/running_job.ts";
import { describeError } from "../job/describe_error.ts";
import { verdictOf } from "../job/errors.ts";
import type { Payload } from "../job/job.ts";
import { jobAttributes, recordFailure } from "./attributes.ts";

/** A payload may hold anything. */
const FROM_PAYLOAD: TextMapGetter<Payload> = {
  keys: (payload) => Object.keys(payload),
  get: (payload, key) => {
    const value = Object.hasOwn(payload, key) ? payload[key] : undefined;
    return typeof value === "string" ? value : undefined;
  },
};

/**
 * The middleware around performing.
 *
 * @returns with it, what ends the spans of the jobs that did not: they were given back
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
      finish(span, "done");
      return result;
    } catch (error) {
      const thrown = job.signal.aborted ? job.signal.reason : error;
      const outcome = outcomeOf(thrown);
      // Given back at the end, it may still come to an end of its own.
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

/** What a job came to that did not end well. */
function outcomeOf(thrown: unknown): string {
  const wish = NO_FAILURES.get(describeError(thrown).class);
  return wish ?? (verdictOf(thrown)?.kind === "snooze" ? "snoozed" : "failed");
}

/** What a signal aborts with that is no failure of the job. */
const NO_FAILURES: ReadonlyMap<string, string> = new Map([
  ["Shutdown", "released"],
  ["Cancelled", "cancelled"],
  ["LeaseLost", "lost"],
]);
