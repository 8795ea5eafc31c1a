/**
 * The spans of pushes: one for each push, or one for each batch of a bulk push. The payload of each job has the context of
 * its span, in the fields of Sidekiq's instrumentation for Ruby: `traceparent`, `tracestate`, `baggage`.
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

/** A batch that is being pushed. */
interface Batch {
  /** The queues of its jobs, at most two: only a single queue is named. */
  readonly queues: Set<string>;
}

const BATCH = createContextKey("jobs batch");

/** Returns the middleware of clients. */
export function pushSpans(tracer: Tracer): Tracing["client"] {
  const push: PushMiddleware = async (pushed, next) => {
    const active = context.active();
    const batch = active.getValue(BATCH) as Batch | undefined;
    const { job } = pushed;
    const queue = String(job.queue);
    if (batch !== undefined) {
      if (batch.queues.size < 2) batch.queues.add(queue);
      pushed.job = withContext(job, active);
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
      pushed.job = withContext(job, within);
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

/** Runs a function, and ends the span. */
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

/** Returns the job with the context in its payload. A job that has a context keeps it, as the conventions require. */
function withContext(job: JobRequest, from: Context): JobRequest {
  if (job.traceparent !== undefined) return job;
  const carrier: Record<string, string> = {};
  propagation.inject(from, carrier);
  return { ...job, ...carrier };
}

/** Returns a link to the context that a job already has. */
function linksOf({ traceparent }: JobRequest) {
  if (typeof traceparent !== "string") return [];
  const existing = trace.getSpanContext(propagation.extract(context.active(), { traceparent }));
  return existing === undefined ? [] : [{ context: existing }];
}
