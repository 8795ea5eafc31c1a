/** Handlers that create spans with OpenTelemetry's API, for the tests. */
import { trace } from "@opentelemetry/api";

async function inner(ctx, name) {
  const span = trace.getTracer("handlers").startSpan(name);
  await new Promise((resolve) => setTimeout(resolve, 1));
  ctx.log.info("Within a span");
  span.end();
}

/** Creates a span. */
export async function Traced(ctx) {
  await inner(ctx, "inner");
}

/** Creates a span in an isolated process. */
export async function TracedApart(ctx) {
  await inner(ctx, "apart");
  await ctx.client.push("Noop", [], { tags: ["from a horse"] });
}
TracedApart.options = { isolate: true };

/** Pushes another job. */
export async function PushMore(ctx) {
  await new Promise((resolve) => setTimeout(resolve, 1));
  return await ctx.client.push("Noop", []);
}

/** Runs a durable step that creates a span. */
export async function Stepped(ctx) {
  await ctx.step("charge", () => inner(ctx, "inside"));
}
