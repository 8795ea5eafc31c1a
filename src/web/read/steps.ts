/**
 * Reads the steps of a job, with secrets masked and large values left out.
 *
 * @module
 */
import { readStepHead, type Step } from "../../job/step.ts";
import type { Services } from "../services.ts";

/** Larger values are left out: they could hold the event loop. */
const MAX_SHOWN = 16 * 1024;

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
