/**
 * Adds to the outcome of an attempt its consequences for the job's steps, and for a parent that waits for the job.
 *
 * @module
 */
import type { Job } from "../job/job.ts";
import type { Returned } from "../job/returned.ts";
import { setFields } from "../job/raw.ts";
import { MAX_STEP_CHARACTERS, mayHaveSteps, STEPS_FIELD } from "../job/step.ts";
import type { Outcome, ParentStep } from "../store/port/outcomes.ts";
import { errorOf } from "./errors.ts";

/** The end of an attempt. */
export interface Ended {
  /** The value that the handler returned. */
  readonly returned?: Returned;
  /** The error of an attempt that hasn't succeeded. */
  readonly error?: unknown;
}

/** A job whose attempt has ended. */
export interface Attempted {
  readonly job: Job;
  /** Undefined if the attempt used no step. */
  readonly steps?: { readonly hasWritten: boolean } | undefined;
}

/** Adds the changes of steps to an outcome. The outcome of a job without steps and without a parent stays unchanged. */
export function withSteps<Any extends Outcome>(outcome: Any, { job, steps }: Attempted, ended: Ended): Any {
  const { payload } = job;
  const hasSteps = steps?.hasWritten || mayHaveSteps(payload);
  if (!hasSteps && payload.parent === undefined) return outcome;
  let more: Partial<Outcome> = {};
  if (hasSteps) {
    more = { steps: true, jid: job.jid };
    if ("payload" in outcome) {
      // So that the next attempt reads the steps.
      more = { ...more, payload: setFields(outcome.payload, { [STEPS_FIELD]: "true" }) } as Partial<Outcome>;
    }
  }
  const parent = payload.parent === undefined ? undefined : parentStep(payload.parent, job.jid, outcome.kind, ended);
  return { ...outcome, ...more, ...(parent !== undefined && { parent }) };
}

function parentStep(parent: unknown, child: string, kind: Outcome["kind"], ended: Ended): ParentStep | undefined {
  if (kind !== "ack" && kind !== "discard" && kind !== "bury") return undefined;
  const { jid, step } = (parent ?? {}) as { jid?: unknown; step?: unknown };
  if (typeof jid !== "string" || typeof step !== "string") return undefined;
  const of = { jid, step, child };
  if ("error" in ended) return failed(of, errorOf(ended.error));
  const { text, problem } = ended.returned ?? {};
  const fail = (message: string) => failed(of, { class: "StepError", message });
  if (problem !== undefined) return fail(`Its result can't be read: ${problem}`);
  if (text === undefined) return { ...of, state: "succeeded", outcome: "" };
  if (text.length <= MAX_STEP_CHARACTERS) return { ...of, state: "succeeded", outcome: `"value":${text}` };
  return fail(`Its result has ${text.length} characters of JSON; at most ${MAX_STEP_CHARACTERS}`);
}

function failed(
  parent: Pick<ParentStep, "jid" | "step" | "child">,
  error: { readonly class: string; readonly message: string },
): ParentStep {
  return { ...parent, state: "failed", outcome: `"error":${JSON.stringify(error)},"final":true` };
}
