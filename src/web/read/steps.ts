/**
 * Reads the steps of a job, with secrets masked and large values left out.
 *
 * @module
 */
import { stepsIn } from "../../job/kept_steps.ts";
import { readStepHead, type Step } from "../../job/step.ts";
import type { Services } from "../services.ts";
import { endedJob } from "./results.ts";

/** Larger values are left out: they could hold the event loop. */
const MAX_SHOWN = 16 * 1024;

/** Reads the steps of a job, or those in the record of one that has ended. */
export async function shownSteps(services: Services, jid: string): Promise<readonly Step[]> {
  const steps = await stepsOf(services, jid);
  if (steps.length > 0) return steps;
  const ended = await endedJob(services, jid);
  return ended === undefined ? [] : stepsIn(ended);
}

/** Reads the steps of a job, in the order in which they began. */
export async function stepsOf({ store, mask }: Pick<Services, "store" | "mask">, jid: string): Promise<Step[]> {
  const stored = await store.steps.read(jid);
  return stored.map(({ name, record }) => {
    const step = readStepHead(name, record, MAX_SHOWN);
    const { value, cursor } = step;
    return {
      ...step,
      ...(value !== undefined && { value: mask.value(value) }),
      ...(cursor !== undefined && { cursor: mask.value(cursor) }),
    };
  });
}
