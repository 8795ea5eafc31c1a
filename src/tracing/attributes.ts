/**
 * The attributes of spans, by OpenTelemetry's semantic conventions for messaging
 * (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/).
 *
 * The system is `jobs` on both stores, because it identifies the program that sets the attributes. Attributes without a
 * name in the conventions begin with `messaging.jobs.`, as the conventions require.
 *
 * @module
 */
import type { Attributes, Span } from "@opentelemetry/api";
import { describeError } from "../job/describe_error.ts";

/** The value of `SpanStatusCode.ERROR`. */
const ERROR = 2;

/** Returns the attributes of a span for one job. */
export function jobAttributes(
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

/** Returns the attributes of any span. */
export function operationAttributes(operation: "send" | "process"): Attributes {
  return {
    "messaging.system": "jobs",
    "messaging.operation.name": operation,
    "messaging.operation.type": operation,
  };
}

/** Records on a span the error that it ended with. */
export function recordFailure(span: Span, thrown: unknown): void {
  const { class: name, message, stack } = describeError(thrown);
  span.recordException({ name, message, stack: [`${name}: ${message}`, ...stack].join("\n") });
  span.setAttribute("error.type", name);
  span.setStatus({ code: ERROR, message: `${name}: ${message}` });
}
