/**
 * Hooks: functions that a worker calls for its life, and for failures.
 *
 * @module
 */
import type { Payload } from "../job/job.ts";
import type { JobContext } from "./context.ts";

/**
 * Functions that are called when something happens. They may be async. An error in one is logged, and changes nothing else.
 *
 * @example
 * ```ts
 * import { type Hooks } from "@jobs/jobs";
 *
 * const hooks: Hooks = {
 *   error: (error, ctx) => console.error(`${ctx.class} failed`, error),
 *   death: (payload) => console.error(`${payload.class} ${payload.jid} is dead`),
 * };
 * ```
 */
export interface Hooks {
  /** Called before the first job is taken. An error in it stops the start. */
  readonly startup?: () => unknown;
  /** Called when the worker takes no more jobs. */
  readonly quiet?: () => unknown;
  /** Called before the worker ends: running jobs have ended or were released. */
  readonly shutdown?: () => unknown;
  /** Called when the store has accepted a heartbeat. */
  readonly heartbeat?: () => unknown;
  /** Called for each failure of a job, before its retry is decided. */
  readonly error?: (error: unknown, job: JobContext) => unknown;
  /** Called when a job has failed for good: it is moved to `dead`, or discarded. */
  readonly death?: (payload: Payload, error: unknown) => unknown;
}
