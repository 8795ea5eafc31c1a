/**
 * Requests of programs that aren't steps: the results of a flow, progress, a log line, a push.
 *
 * @module
 */
import type { JobRequest } from "../../client/client.ts";
import { parseLossless, stringifyLossless } from "../../job/json.ts";
import { LOG_LEVELS } from "../../log/log.ts";
import type { JobContext } from "../context.ts";
import type { ProgramRequest, PushRequest, StepRequest, ToProgram } from "./step_frames.ts";

/** A request that isn't a step. */
type OtherRequest = Exclude<ProgramRequest, StepRequest>;
const KINDS: ReadonlySet<string> = new Set<OtherRequest["kind"]>(["results", "progress", "log", "push"]);

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
      if (job.flow === undefined) throw new Error("This job isn't a node of a flow");
      return await job.flow.results(request.nodes);
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
    case "push":
      return await push(job, request);
  }
}

/** @returns its jid; undefined if it is a duplicate */
async function push({ batch, client }: JobContext, request: PushRequest): Promise<string | undefined> {
  const { class: name, args, ...options } = parseLossless(request.job) as JobRequest;
  if (!request.inBatch) return await client.push({ class: name, args, ...options } as JobRequest);
  if (batch === undefined) throw new Error("This job is in no batch");
  return await batch.add(name as string, args as readonly never[], options);
}
