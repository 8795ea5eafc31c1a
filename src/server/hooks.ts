/**
 * Where an embedding program hooks in: the process's life, and every failure.
 *
 * @module
 */
import type { JobContext } from "../handlers/context.ts";
import type { Payload } from "../job/job.ts";
import type { Log } from "../log/log.ts";

/** What a program may want to be told. A hook may be async; an error in one is logged and changes nothing else. */
export interface Hooks {
  /** Before the first job is taken. An error here stops the start. */
  readonly startup?: () => unknown;
  /** It takes no more jobs. */
  readonly quiet?: () => unknown;
  /** It is about to end; running jobs have ended or were given back. */
  readonly shutdown?: () => unknown;
  /** The store took a heartbeat. */
  readonly heartbeat?: () => unknown;
  /** A job failed; called for each failure, before its retry is decided. */
  readonly error?: (error: unknown, job: JobContext) => unknown;
  /** A job failed for good: it goes to `dead`, or is dropped. */
  readonly death?: (payload: Payload, error: unknown) => unknown;
}

/** Calls a hook; whatever it does, this resolves. */
export async function callHook(log: Log, name: keyof Hooks, call: () => unknown): Promise<void> {
  try {
    await call();
  } catch (error) {
    log.error("Hook failed", { hook: name, error, stack: error instanceof Error ? error.stack : undefined });
  }
}
