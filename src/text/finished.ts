/**
 * Finished jobs, as the command line, the dashboard and the HTTP API show them.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";
import { stringifyLossless } from "../job/json.ts";
import { stepsIn } from "../job/kept_steps.ts";
import type { EndedJob } from "../job/result.ts";
import { asText } from "../log/value.ts";
import type { finishedShape } from "../operator/shapes/finished.ts";
import type { JsonOf } from "../operator/shapes/shape.ts";
import { type Columns, timeColumn } from "./columns.ts";
import { argsText } from "./job_text.ts";
import { stepJson } from "./steps.ts";
import { isoTime } from "./times.ts";

/** The columns of a list of finished jobs. */
export const FINISHED_COLUMNS = {
  jid: { text: ({ jid }) => asText(jid), is: "whole" },
  ended: timeColumn(({ endedAt }) => endedAt, "whole"),
  state: { text: (job) => finishedState(job), isState: true, is: "whole" },
  took: { text: (job) => tookText(job), isAmount: true, is: "optional" },
  queue: { text: ({ queue }) => asText(queue), is: "optional" },
  job: { text: (job) => finishedCall(job) },
  result: { text: (job) => resultText(job) },
} as const satisfies Columns<EndedJob>;

/** Returns the record of a finished job as JSON. */
export function finishedJson(job: EndedJob): JsonOf<typeof finishedShape> {
  return {
    jid: job.jid,
    class: job.class,
    queue: job.queue,
    state: finishedState(job),
    result: job.result,
    resultDropped: job.resultDropped,
    error: job.error,
    attempt: job.attempt,
    startedAt: isoTime(job.startedAt),
    endedAt: isoTime(job.endedAt)!,
    elapsedMs: job.elapsedMs,
    worker: job.worker,
    progress: job.progress,
    lastLine: job.lastLine,
    log: job.log,
    output: job.output,
    steps: job.steps && stepsIn(job).map(stepJson),
    payload: job.payload,
  };
}

/** Returns how a job ended: `succeeded`, `failed`, `dead`, `cancelled`, `expired`. Any program may have written the record. */
export function finishedState({ state }: Pick<EndedJob, "state">): EndedJob["state"] {
  return asText(state) as EndedJob["state"];
}

/** Returns the duration of the last attempt; undefined if it isn't known. */
export function tookText({ elapsedMs: ms }: EndedJob): string | undefined {
  return typeof ms === "number" ? formatDuration(ms) : undefined;
}

/** Returns `Import("a.csv", 5)`; the class alone if the record has no payload. */
export function finishedCall({ class: name, payload }: EndedJob): string {
  const args = payload?.["args"];
  return asText(name) + (Array.isArray(args) ? `(${argsText(args)})` : "");
}

/** Returns the result, the reason why it wasn't kept, or the error, in one line; undefined without any. */
export function resultText({ error, result, resultDropped }: EndedJob): string | undefined {
  if (error) return `${asText(error.class)}: ${asText(error.message)}`;
  if (resultDropped !== undefined) return `(${asText(resultDropped)})`;
  return result === null ? undefined : stringifyLossless(result);
}
