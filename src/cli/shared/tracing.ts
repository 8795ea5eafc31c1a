/**
 * Traces of a command that enqueues: where they are on, what it pushes has spans, and they are exported before it ends.
 *
 * @module
 */
import type { ClientOptions } from "../../client/client.ts";
import { carrierOfEnvironment, openTracing } from "../../tracing/tracing.ts";
import { blankControls, printError } from "../terminal/output.ts";

/** What a client is given beside the rest; nothing where traces are off. */
export type ClientTracing = Pick<ClientOptions, "middleware" | "batchMiddleware">;

/** Runs a command, as part of the span that it was started in, if it was (`TRACEPARENT`). */
export async function traced<Result>(run: (tracing: ClientTracing) => Promise<Result>): Promise<Result> {
  await using tracing = await openTracing({
    brief: true,
    warn: (message) => printError(`jobs: ${blankControls(message)}`),
  });
  if (tracing === undefined) return await run({});
  return await tracing.within(carrierOfEnvironment(), () => run(tracing.client));
}
