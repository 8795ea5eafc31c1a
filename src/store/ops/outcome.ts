/**
 * The one place that turns the end of an attempt into the outcome to settle, with everything that follows from it: the unique
 * lock and the cron entry that it releases, its record, its steps, the step of a parent that waits for it, its batch, the jobs of webhooks, its event.
 *
 * @module
 */
import { countedAs, membershipOf } from "../../job/batch.ts";
import { endMembers } from "../../job/event.ts";
import { type Job, releasesOf } from "../../job/job.ts";
import { setFields } from "../../job/raw.ts";
import type { Returned } from "../../job/returned.ts";
import { errorOf, MAX_STEP_CHARACTERS, mayHaveSteps, STEPS_FIELD } from "../../job/step.ts";
import type { JobEnd } from "../../job/webhook.ts";
import type { MemberChange } from "../port/batches.ts";
import type { NewJob } from "../port/jobs.ts";
import type { Outcome, ParentStep } from "../port/outcomes.ts";
import type { NewRecord } from "../port/results.ts";

/** How an attempt ends. An end alone can't be settled: {@linkcode outcomeOf} adds what follows from it. */
export type AttemptEnd =
  | { readonly kind: "ack"; readonly as: "succeeded" | "cancelled" | "expired" }
  | { readonly kind: "discard" }
  | { readonly kind: "retry"; readonly delayMs: number; readonly payload: string }
  | { readonly kind: "snooze"; readonly delayMs: number; readonly payload: string }
  | { readonly kind: "aside"; readonly class: string; readonly delayMs: number; readonly payload: string }
  | { readonly kind: "bury"; readonly payload: string };

/** The outcome of an attempt. Only a worker that stops releases jobs. */
export type AttemptOutcome = Exclude<Outcome, { readonly kind: "release" }>;

/** The facts about the end of a job. */
export interface EndedFacts {
  /** The error of a job that hasn't succeeded. */
  readonly error?: { readonly class: string; readonly message: string };
  /** The result, as JSON. */
  readonly result?: string;
}

/** Adds what follows from the end of a job. */
export interface EndListener {
  /** Returns jobs to store with the end; undefined if there are none. `facts` isn't called if nothing listens: most jobs end so. */
  follow(job: Job, end: JobEnd, facts: () => EndedFacts): readonly NewJob[] | undefined;
}

/** The facts about an ended attempt. */
export interface Ended {
  /** The error of an attempt that hasn't succeeded. */
  readonly error?: unknown;
  /** The value that the handler returned. */
  readonly returned?: Returned;
  /** Whether the attempt has written steps or a stream. */
  readonly hasWritten?: boolean | undefined;
  /** The record to keep if the job has ended. */
  readonly record?: NewRecord | undefined;
  /** Returns the result of a flow's node, as JSON. */
  readonly nodeResult?: () => string | undefined;
  /** Absent: nothing follows. */
  readonly listener?: EndListener | undefined;
}

/**
 * Returns the outcome of a lease.
 *
 * A job that runs again keeps its lock, its place in a batch and its parent. Its payload has a mark if it has steps, so that the
 * next attempt reads them.
 */
export function outcomeOf(token: string, job: Job, end: AttemptEnd, ended: Ended): AttemptOutcome {
  const steps = ended.hasWritten || mayHaveSteps(job.payload) ? { steps: true, jid: job.jid } as const : undefined;
  const marked = (payload: string) => steps ? setFields(payload, { [STEPS_FIELD]: "true" }) : payload;
  if (end.kind === "retry" || end.kind === "snooze") {
    return { kind: end.kind, token, delayMs: end.delayMs, payload: marked(end.payload), ...steps };
  }
  if (end.kind === "aside") return { ...end, token, payload: marked(end.payload), ...steps };
  const to: JobEnd = end.kind === "bury" ? "dead" : end.kind === "discard" ? "failed" : end.as;
  const batch = memberChange(job, to, ended.nodeResult);
  const parent = parentStep(job, ended);
  const follow = ended.listener?.follow(job, to, () => factsOf(to, ended));
  const follows = {
    token,
    ...releasesOf(job),
    ...steps,
    ...(ended.record !== undefined && { record: ended.record }),
    ...(batch !== undefined && { batch }),
    ...(parent !== undefined && { parent }),
    ...(follow !== undefined && { follow }),
    ...(to !== "succeeded" && { event: endMembers(to, factsOf(to, ended).error) }),
  };
  if (end.kind !== "bury") return { kind: end.kind, ...follows };
  return { kind: "bury", payload: marked(batch ? countedAs(end.payload, "dead") : end.payload), ...follows };
}

function factsOf(end: JobEnd, { error, returned }: Ended): EndedFacts {
  if (end === "succeeded") return returned?.text === undefined ? {} : { result: returned.text };
  return end === "cancelled" || end === "expired" ? {} : { error: errorOf(error) };
}

/** Returns the change of the batch that counts the job; undefined if none does. */
function memberChange({ payload }: Job, to: JobEnd, nodeResult: Ended["nodeResult"]): MemberChange | undefined {
  if (payload["batch_counted"] === undefined) return undefined;
  const { id, counted: from, node } = membershipOf(payload) ?? {};
  if (id === undefined || from === undefined) return undefined;
  if (node === undefined) return { id, from, to };
  const result = nodeResult?.();
  return { id, from, to, node, ...(result !== undefined && { result }) };
}

/** Returns how the step of the parent ends that waits for the job; undefined if the job has no parent. */
function parentStep({ jid: child, payload: { parent } }: Job, ended: Ended): ParentStep | undefined {
  if (parent === undefined) return undefined;
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
