/**
 * Jobs as another client writes them: with fields that ours doesn't know, and numbers and texts that ours would write otherwise. Every
 * process keeps them byte for byte, which the judges of the stores check after each event.
 *
 * @module
 */
import type { Store } from "../../src/store/admin/store.ts";

/** In a job's arguments, in place of {@linkcode MARK}, and in an unknown field. */
export const FOREIGN = String.raw`"n":1.0,"id":12345678901234567890,"path":"a\/b\u00e9"`;
/** In the arguments of a job that is to be written so. */
const MARK = '"foreign":true';

/** Returns the store of a client that writes its jobs so. */
export function asForeign(store: Store): Store {
  const write = (payload: string) =>
    payload.includes(MARK)
      ? `${payload.replace(MARK, `"foreign":{${FOREIGN}}`).slice(0, -1)},"ruby":{${FOREIGN}}}`
      : payload;
  const enqueue: Store["jobs"]["enqueue"] = (jobs) =>
    store.jobs.enqueue(jobs.map((job) => ({ ...job, payload: write(job.payload) })));
  return { ...store, jobs: Object.assign(Object.create(store.jobs), { enqueue }) };
}
