/**
 * Reads what one job waits for, apart from its queue and the workers: a turn of its group, and its durable steps.
 *
 * @module
 */
import { parsePayload } from "../../job/job.ts";
import { mayHaveSteps, readStepHead, type Step } from "../../job/step.ts";
import type { Entry } from "../port/entries.ts";
import type { Store } from "../admin/store.ts";
import type { GroupInfo } from "../port/groups.ts";

/** See {@linkcode readJobWaits}. */
export interface JobWaits {
  /** The group in which the job is queued. */
  readonly group?: GroupInfo;
  /** The steps that sleep or wait, in the order in which they began, without large values. */
  readonly waitingSteps?: readonly Step[];
}

/** Values of steps that are larger are not read. */
const MAX_VALUE_CHARS = 1_000;

/** Returns what a job waits for. */
export async function readJobWaits(store: Pick<Store, "admin" | "steps">, entry: Entry): Promise<JobWaits> {
  const { place } = entry;
  if (place.in === "queue" && place.group !== undefined) {
    const [group] = (await store.admin.groups(place.queue, { group: place.group })).groups;
    return group === undefined ? {} : { group };
  }
  if (place.in !== "scheduled") return {};
  const job = parsePayload(entry.payload);
  if (job === undefined || !mayHaveSteps(job.payload)) return {};
  const steps = (await store.steps.read(job.jid)).map(({ name, record }) =>
    readStepHead(name, record, MAX_VALUE_CHARS)
  );
  return { waitingSteps: steps.filter(({ state }) => state === "waiting") };
}
