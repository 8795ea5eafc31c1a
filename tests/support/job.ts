/**
 * Running jobs and their contexts, for tests without a store.
 *
 * @module
 */
import type { Client } from "../../src/client/client.ts";
import type { JobContext, Progress } from "../../src/handlers/context.ts";
import { RunningJob, type RunningJobServices } from "../../src/handlers/running_job.ts";
import { parsePayload } from "../../src/job/job.ts";
import { KeptLog } from "./log.ts";

/** The fields of the job, and its services. */
export interface JobGiven {
  readonly class?: string;
  readonly jid?: string;
  readonly queue?: string;
  readonly attempt?: number;
  readonly log?: KeptLog;
  /** Additional fields of the payload. */
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly registry?: RunningJobServices["registry"];
  readonly onProgress?: (progress: Progress) => void;
}

/** Returns a running job. */
export function runningJob(given: JobGiven = {}): RunningJob {
  const { class: name = "HardJob", jid = "a".repeat(24), queue = "default", attempt = 1, log = new KeptLog() } = given;
  const payload = {
    ...{ class: name, jid, queue, args: [] },
    ...(attempt > 1 && { retry_count: attempt - 2 }),
    ...given.payload,
  };
  return new RunningJob(parsePayload(JSON.stringify(payload))!, queue, {
    log,
    client: {} as Client,
    ...(given.onProgress && { onProgress: given.onProgress }),
    ...(given.registry && { registry: given.registry }),
  });
}

/** Returns the context of a job. */
export function jobContext(given: JobGiven = {}): JobContext {
  return runningJob(given).context;
}
