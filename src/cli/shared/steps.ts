/**
 * The steps of a job, as commands show them.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { stepsIn } from "../../job/kept_steps.ts";
import { readEnded } from "../../job/result.ts";
import type { Step } from "../../job/step.ts";
import type { Store } from "../../store/admin/store.ts";
import type { Mask } from "../../text/mask.ts";
import { maskedEnded } from "./masked.ts";
import { shownStep, stepDetails, stepState, stepValue } from "../../text/steps.ts";

/** Larger values are left out. */
const MAX_VALUE_CHARS = 64 * 1024;

/** Reads the steps of a job, in the order in which they began. */
export async function readSteps(store: Pick<Store, "steps">, jid: string, mask: Mask): Promise<Step[]> {
  return (await store.steps.read(jid)).map((step) => shownStep(step, mask, MAX_VALUE_CHARS));
}

/** Reads the steps of a job, or those in the record of one that has ended. */
export async function stepsOf(
  store: Pick<Store, "steps" | "results">,
  jid: string,
  mask: Mask,
): Promise<readonly Step[]> {
  const steps = await readSteps(store, jid, mask);
  if (steps.length > 0) return steps;
  const record = (await store.results.read({ jids: [jid] })).records[0];
  return record === undefined ? [] : stepsIn(maskedEnded(readEnded(record), mask));
}

/** Describes a step in one line. */
export function stepLine(step: Step): string {
  const details = stepDetails(step, systemClock.now());
  const value = stepValue(step);
  return [`${step.name}: ${stepState(step)}`, details && `(${details})`, value && `→ ${value}`].filter(Boolean).join(
    " ",
  );
}
