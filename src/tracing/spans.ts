/**
 * The spans of pushes, attempts and durable steps.
 *
 * @module
 */
import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type TextMapGetter,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import type { BatchMiddleware, PushMiddleware } from "../client/middleware.ts";
import type { JobTrace } from "../handlers/context.ts";
import type { PerformMiddleware } from "../handlers/handler.ts";
import { setTrace } from "../handlers/running_context.ts";
import { describeError } from "../job/describe_error.ts";
import type { Payload } from "../job/job.ts";
import type { JobRequest } from "../job/payload.ts";
import { Cancelled, LeaseLost, Shutdown } from "../job/errors.ts";
import { verdictOf } from "../job/verdict.ts";
import type { Tracing } from "./tracing.ts";

/** Reads headers from a payload, whose fields may have any type. */
const FROM_PAYLOAD: TextMapGetter<Payload> = {
  keys: (payload) => Object.keys(payload),
  get: (payload, key) => {
    const value = Object.hasOwn(payload, key) ? payload[key] : undefined;
    return typeof value === "string" ? value : undefined;
  },
};

/**
 * Returns the middleware around performing, and a function that ends the spans of jobs that were released and still run. The span
 * of an attempt is active while the handler runs, so that the spans of the handler are its children, and the jobs that the handler
 * pushes are in its trace.
 *
 *  1. Each attempt has a span. It is linked to the span of the push, in a new trace; with `style: "child"` it is a child of
 *     that span.
 *  2. Horses and programs receive the span through the context of the job.
 *  3. The span of a job that was cancelled, released, lost or snoozed is not a failure.
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
      const outcome = (job.signal.aborted ? abortOutcome(thrown) : undefined) ?? outcomeOf(thrown);
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
  return verdictOf(thrown)?.kind === "snooze" ? "snoozed" : "failed";
}

/** Returns the outcome of an aborted job; undefined if the reason is a failure of the job. */
function abortOutcome(reason: unknown): string | undefined {
  if (reason instanceof Shutdown) return "released";
  if (reason instanceof Cancelled) return "cancelled";
  return reason instanceof LeaseLost ? "lost" : undefined;
}

/** The span of a durable step that runs: a child of the span of its attempt. A step that is stored already has none. */
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

/** A chunk that is being pushed. */
interface Chunk {
  /** The queues of its jobs, at most two: only a single queue is named. */
  readonly queues: Set<string>;
}

const CHUNK = createContextKey("jobs batch");

/**
 * The spans of pushes: one for each push, or one for each chunk of a bulk push. The payload of each job has the context of its
 * span, in the fields of Sidekiq's instrumentation for Ruby: `traceparent`, `tracestate`, `baggage`.
 *
 * Returns the middleware of clients.
 */
export function pushSpans(tracer: Tracer): Tracing["client"] {
  const push: PushMiddleware = async (pushed, next) => {
    const active = context.active();
    const chunk = active.getValue(CHUNK) as Chunk | undefined;
    const { job } = pushed;
    const queue = String(job.queue);
    if (chunk !== undefined) {
      if (chunk.queues.size < 2) chunk.queues.add(queue);
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
    const chunk: Chunk = { queues: new Set() };
    const span = tracer.startSpan("send", {
      kind: SpanKind.PRODUCER,
      attributes: { ...operationAttributes("send"), "messaging.batch.message_count": count },
    });
    return await ended(span, async () => {
      const result = await context.with(trace.setSpan(context.active(), span).setValue(CHUNK, chunk), next);
      const [queue, another] = chunk.queues;
      if (queue !== undefined && another === undefined) {
        span.updateName(`send ${queue}`).setAttribute("messaging.destination.name", queue);
      }
      return result;
    });
  };
  return { middleware: [push], batchMiddleware: [many] };
}

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

/** The value of `SpanStatusCode.ERROR`. */
const ERROR = 2;

/**
 * The attributes of spans, by OpenTelemetry's semantic conventions for messaging
 * (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/).
 *
 * The system is `jobs` on both stores, because it identifies the program that sets the attributes. Attributes without a name
 * in the conventions begin with `messaging.jobs.`, as the conventions require.
 *
 * Returns the attributes of a span for one job.
 */
function jobAttributes(
  operation: "send" | "process",
  job: { readonly class: unknown; readonly jid?: unknown; readonly queue: unknown },
): Attributes {
  return {
    ...operationAttributes(operation),
    "messaging.destination.name": String(job.queue),
    "messaging.message.id": String(job.jid),
    "messaging.jobs.class": String(job.class),
  };
}

function operationAttributes(operation: "send" | "process"): Attributes {
  return {
    "messaging.system": "jobs",
    "messaging.operation.name": operation,
    "messaging.operation.type": operation,
  };
}

function recordFailure(span: Span, thrown: unknown): void {
  const { class: name, message, stack } = describeError(thrown);
  span.recordException({ name, message, stack: [`${name}: ${message}`, ...stack].join("\n") });
  span.setAttribute("error.type", name);
  span.setStatus({ code: ERROR, message: `${name}: ${message}` });
}
