/**
 * Requests of programs that aren't steps: the results of a flow, progress, a log line, a chunk of a stream, a push.
 *
 * @module
 */
import type { JobRequest } from "../../client/client.ts";
import { parseLossless, stringifyLossless } from "../../job/json.ts";
import { LOG_LEVELS } from "../../log/log.ts";
import type { JobContext } from "../context.ts";
import { performOther } from "../step_request.ts";
import type { ProgramRequest, PushRequest, StepFrame, ToProgram } from "./step_frames.ts";

/** A request that isn't a step. */
type OtherRequest = Exclude<ProgramRequest, StepFrame>;
const KINDS: ReadonlySet<string> = new Set<OtherRequest["kind"]>(["results", "progress", "log", "stream", "push"]);

/** Returns whether a request isn't a step. */
export function isOther(request: ProgramRequest): request is OtherRequest {
  return KINDS.has(request.kind);
}

/** Performs a request for a job. An error is the reply: the program decides whether it ends. */
export async function replyTo(job: JobContext, request: OtherRequest): Promise<ToProgram> {
  try {
    const value = stringifyLossless(await perform(job, request));
    return { kind: "value", ...(value !== undefined && { value }) };
  } catch (error) {
    return { kind: "failed", message: (error as Error).message };
  }
}

async function perform(job: JobContext, request: OtherRequest): Promise<unknown> {
  switch (request.kind) {
    case "results":
      return await performOther(job, request);
    case "progress":
      if (typeof request.done !== "number") {
        throw new TypeError(`Invalid progress ${JSON.stringify(request.done)}: expected a number`);
      }
      return job.progress(request.done, request.note);
    case "log":
      if (!LOG_LEVELS.includes(request.level)) {
        throw new TypeError(`Invalid level ${JSON.stringify(request.level)}: expected ${LOG_LEVELS.join(", ")}`);
      }
      return job.log[request.level](request.message);
    case "stream":
      return await job.stream(parseLossless(request.chunk));
    case "push":
      return await push(job, request);
  }
}

/** @returns its jid; undefined if it is a duplicate */
async function push(job: JobContext, request: PushRequest): Promise<unknown> {
  const pushed = parseLossless(request.job) as JobRequest;
  if (!request.inBatch) return await job.client.push(pushed);
  const { class: name, args = [], ...options } = pushed;
  return await performOther(job, { kind: "member", class: name as string, args, options });
}
