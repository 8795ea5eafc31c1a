/**
 * The steps of a job that ends, for its record.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { keptSteps } from "../job/kept_steps.ts";
import type { LeaseSteps } from "./services.ts";

/** The record of an ended job waits this long for its steps. */
const MAX_READ_MS = 1_000;

/**
 * Returns the steps of a job as JSON; undefined if it has none. A store that fails or takes long doesn't delay the end of the
 * job: then only the unstored steps are returned.
 *
 * @param unstored the records of ended steps that the store doesn't have, by name
 */
export async function readHistory(
  { steps, clock }: { readonly steps: Pick<LeaseSteps, "read">; readonly clock: Clock },
  unstored: ReadonlyMap<string, string>,
): Promise<string | undefined> {
  const ended = new AbortController();
  const late = clock.sleep(MAX_READ_MS, ended.signal).then(() => []);
  try {
    const stored = await Promise.race([steps.read(), late]);
    return keptSteps(new Map([...stored.map(({ name, record }) => [name, record] as const), ...unstored]));
  } catch {
    return keptSteps(unstored);
  } finally {
    ended.abort("ended");
  }
}
