/**
 * The spans of pushes: one for each push, and for many at once one for each batch. Each job's payload carries its span's
 * context, in the fields in which Sidekiq's instrumentation for Ruby has it: `traceparent`, `tracestate`, `baggage`.
 *
 * @module
 */
import {
  type Context,
  context,
  createContextKey,
  propagation,
  type Span,
  SpanKind,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import type { JobRequest } from "../job/payload.ts";
import type { BatchMiddleware, PushMiddleware } from "../client/middleware.ts";
import { jobAttributes, operationAttributes, recordFailure } from "./attributes.ts";
import type { Tracing } from "./tracing.ts";

/** A batch under way. */
interface Batch {
  /** The queues of its jobs, up to two: whether there is more than one is all that counts. */
  readonly queues: Set<string>;
}

const BATCH = createContextKey("jobs batch");

/** The middleware of clients. */
export function pushSpans(tracer: Tracer): Tracing["client"] {
  const push: PushMiddleware = async (pushed, next) => {
    const active = context.active();
    const batch = active.getValue(BATCH) as Batch | undefined;
    const { job } = pushed;
    const queue = String(job.queue);
    if (batch !== undefined) {
      if (batch.queues.size < 2) batch.queues.add(queue);
      pushed.job = carrying(job, active);
      return await next();
    }
    const links = linksOf(job);
    const span = tracer.startSpan(`send ${queue}`, {
      kind: SpanKind.PRODUCER,
      attributes: jobAttributes("send", { ...job, queue }),
      links,
    });
    return await ended(span, () => {
      const within = trace.setSpan(active, span);
      pushed.job = carrying(job, within);
      return context.with(within, next);
    });
  };

  const many: BatchMiddleware = async ({ count }, next) => {
    const batch: Batch = { queues: new Set() };
    const span = tracer.startSpan("send", {
      kind: SpanKind.PRODUCER,
      attributes: { ...operationAttributes("send"), "messaging.batch.message_count": count },
    });
    return await ended(span, async () => {
      const result = await context.with(trace.setSpan(context.active(), span).setValue(BATCH, batch), next);
      const [queue, another] = batch.queues;
      if (queue !== undefined && another === undefined) {
        span.updateName(`send ${queue}`).setAttribute("messaging.destination.name", queue);
      }
      return result;
    });
  };
  return { middleware: [push], batchMiddleware: [many] };
}

/** Runs a span to its end. */
async function ended<Result>(span: Span, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    recordFailure(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** The job with the context in its payload. One that brings its own keeps that: the conventions ask for it. */
function carrying(job: JobRequest, from: Context): JobRequest {
  if (job.traceparent !== undefined) return job;
  const carrier: Record<string, string> = {};
  propagation.inject(from, carrier);
  return { ...job, ...carrier };
}

/** To the context that a job brings. */
function linksOf({ traceparent }: JobRequest) {
  if (typeof traceparent !== "string") return [];
  const brought = trace.getSpanContext(propagation.extract(context.active(), { traceparent }));
  return brought === undefined ? [] : [{ context: brought }];
}
