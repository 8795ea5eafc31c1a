/**
 * Reads the steps of a job, with secrets masked and large values left out.
 *
 * @module
 */
import type { Context } from "hono";
import { stepsIn } from "../../job/kept_steps.ts";
import type { Step } from "../../job/step.ts";
import { shownStep } from "../../text/steps.ts";
import type { Services, WebEnv } from "../services.ts";
import { endedJob } from "./results.ts";
import { MAX_ROWS, type Rows, rowsOf } from "./rows.ts";

/** Larger values are left out: they could hold the event loop. */
const MAX_SHOWN = 16 * 1024;

/** Reads the steps of a job, or those in the record of one that has ended. */
export async function shownSteps(services: Services, jid: string): Promise<readonly Step[]> {
  const steps = await stepsOf(services, jid);
  if (steps.length > 0) return steps;
  const ended = await endedJob(services, jid);
  return ended === undefined ? [] : stepsIn(ended);
}

/** The steps of a job for its page. */
export interface StepRows {
  readonly page: Rows<Step>;
  /** Those that wait, on any page. */
  readonly waiting: readonly Step[];
}

/** Returns the page of steps that a request names. Of many, those that wait come first: they are what a visitor can act on. */
export function stepRows(c: Context<WebEnv>, steps: readonly Step[]): StepRows {
  const waiting = steps.filter(({ state }) => state === "waiting");
  const sorted = steps.length > MAX_ROWS ? [...waiting, ...steps.filter(({ state }) => state !== "waiting")] : steps;
  return { page: rowsOf(c, sorted, ({ name }) => name), waiting };
}

/** Reads the steps of a job, in the order in which they began. */
export async function stepsOf({ store, mask }: Pick<Services, "store" | "mask">, jid: string): Promise<Step[]> {
  return (await store.steps.read(jid)).map((step) => shownStep(step, mask, MAX_SHOWN));
}
