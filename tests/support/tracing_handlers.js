/** Handlers that trace, for the tests: as a program's own handlers do, by OpenTelemetry's API. */
import { trace } from "@opentelemetry/api";

async function inner(ctx, name) {
  const span = trace.getTracer("handlers").startSpan(name);
  await new Promise((resolve) => setTimeout(resolve, 1));
  ctx.log.info("Within a span");
  span.end();
}

/** Makes a span of its own. */
export async function Traced(ctx) {
  await inner(ctx, "inner");
}

/** The same in a process of its own. */
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
