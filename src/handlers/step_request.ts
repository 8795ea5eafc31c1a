/**
 * A handler's use of its context, requested by code that runs elsewhere: a program, or a worker in another runtime.
 *
 * @module
 */
import type { JobContext } from "./context.ts";
import { stepRunnerOf } from "./running_context.ts";
import { StepError } from "../steps/errors.ts";
import type { StepOptions, StepRun, WaitOptions } from "../steps/options.ts";

/** A durable step, or a part of one, with parsed values. */
export type StepRequest =
  & { readonly name: string }
  & (
    | {
      /** Runs a part of that code once. */
      readonly kind: "step";
      readonly options?: StepOptions;
    }
    | { readonly kind: "sleep"; readonly duration: number | string }
    | { readonly kind: "wait"; readonly options: WaitOptions }
    /** Stores the cursor of a loop; without one, requests it. */
    | { readonly kind: "cursor"; readonly cursor?: unknown }
    | {
      readonly kind: "child";
      readonly class: string;
      readonly args: readonly unknown[];
      readonly options?: Readonly<Record<string, unknown>>;
    }
  );

/** The results of other nodes of the job's flow, or a push into the job's batch. */
export type ContextRequest =
  | { readonly kind: "results"; readonly nodes?: readonly string[] }
  | {
    readonly kind: "member";
    readonly class: string;
    readonly args: readonly unknown[];
    readonly options?: Readonly<Record<string, unknown>>;
  };

/**
 * Performs a request for a step.
 *
 * @param part runs the part of the code that requests it
 */
export async function performStep(
  job: JobContext,
  request: StepRequest,
  part: (step: StepRun) => unknown,
): Promise<unknown> {
  const { name } = request;
  switch (request.kind) {
    case "step":
      return await job.step(name, part, request.options);
    case "sleep":
      return await job.sleep(name, request.duration);
    case "wait":
      return await job.waitFor(name, request.options);
    case "cursor": {
      const steps = stepRunnerOf(job);
      return request.cursor === undefined ? await steps.cursor(name) : await steps.storeCursor(name, request.cursor);
    }
    case "child":
      return await job.run(name, request.class, [...request.args], request.options);
    default:
      throw new StepError(
        `Invalid step of kind ${
          JSON.stringify((request as StepRequest).kind)
        }: expected step, sleep, wait, cursor or child`,
      );
  }
}

/** Performs a request that isn't a step. A push returns the jid; undefined if it is a duplicate. */
export async function performOther({ batch, flow }: JobContext, request: ContextRequest): Promise<unknown> {
  if (request.kind === "results") {
    if (flow === undefined) throw new Error("This job isn't a node of a flow");
    return await flow.results(request.nodes);
  }
  if (batch === undefined) throw new Error("This job is in no batch");
  return await batch.add(request.class, request.args as readonly never[], request.options);
}
