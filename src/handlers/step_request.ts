/**
 * A handler's use of its context, requested by code that runs elsewhere: a program, or a worker in another runtime.
 *
 * @module
 */
import type { JobContext } from "./context.ts";
import { stepRunnerOf } from "./running_context.ts";
import { fieldProblem, flatPush } from "../job/push_fields.ts";
import type { ChildOptions } from "../steps/context.ts";
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
  | {
    readonly kind: "results";
    readonly nodes?: readonly string[];
    /** The code may read only the nodes directly before the job's: those whose results the flow gives to it. */
    readonly beforeOnly?: true;
  }
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
    case "child": {
      const { giveUpAfter, ...options } = request.options ?? {};
      const child = `Job "${request.class}" of step "${name}"`;
      const checked = {
        ...optionsOf(child, options, ["giveUpAfter"]),
        ...(giveUpAfter !== undefined && { giveUpAfter }),
      };
      return await job.run(name, request.class, [...request.args], checked as ChildOptions);
    }
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
    const { nodes, beforeOnly = false } = request;
    const given = beforeOnly && nodes !== undefined ? await flow.before() : nodes;
    const other = nodes?.find((name) => given?.includes(name) === false);
    if (other === undefined) return await flow.results(nodes);
    const expected = `the nodes directly before this one: ${given!.join(", ") || "none"}`;
    throw new StepError(`Results of node "${other.slice(0, 80)}" are outside of your role; expected ${expected}`);
  }
  if (batch === undefined) throw new Error("This job is in no batch");
  const options = optionsOf(`Job "${request.class}"`, request.options);
  return await batch.add(request.class, request.args as readonly never[], options);
}

/**
 * Returns the options of a job that code elsewhere pushes, with the fields of that code next to them.
 *
 * @throws {StepError} if it has an unknown field, or one that it may not set
 */
function optionsOf(
  job: string,
  options: Readonly<Record<string, unknown>> = {},
  further: readonly string[] = [],
): Record<string, unknown> {
  const problem = fieldProblem(options, further);
  if (problem === undefined) return flatPush(options);
  throw new StepError(`${job}: ${problem.message[0]!.toLowerCase()}${problem.message.slice(1)}`);
}
