/**
 * Traces of a command that pushes jobs. If tracing is on, pushes have spans, which are exported before the command ends.
 *
 * @module
 */
import type { ClientOptions } from "../../client/client.ts";
import { carrierOfEnvironment, openTracing } from "../../tracing/tracing.ts";
import { printError } from "../terminal/output.ts";

/** Client options for tracing; empty if tracing is off. */
export type ClientTracing = Pick<ClientOptions, "middleware" | "batchMiddleware">;

/** Runs a command, within the span given by `TRACEPARENT` if any. */
export async function traced<Result>(run: (tracing: ClientTracing) => Promise<Result>): Promise<Result> {
  await using tracing = await openTracing({
    brief: true,
    warn: (message) => printError(`jobs: ${message}`),
  });
  if (tracing === undefined) return await run({});
  return await tracing.within(carrierOfEnvironment(), () => run(tracing.client));
}
