/**
 * A job's context as handlers get it, for tests in which no client pushes.
 *
 * @module
 */
import type { Client } from "../../src/client/client.ts";
import { JobContext } from "../../src/handlers/context.ts";
import type { ContextServices, Progress } from "../../src/handlers/context.ts";
import { KeptLog } from "./log.ts";

/** What a test may say of its job. */
export interface JobGiven {
  readonly class?: string;
  readonly jid?: string;
  readonly queue?: string;
  readonly attempt?: number;
  readonly log?: KeptLog;
  /** More fields of the payload. */
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly registry?: ContextServices["registry"];
  readonly onProgress?: (progress: Progress) => void;
}

/** The context of a job. */
export function jobContext(given: JobGiven = {}): JobContext {
  const { class: name = "HardJob", jid = "a".repeat(24), queue = "default", attempt = 1, log = new KeptLog() } = given;
  const payload = { class: name, jid, queue, args: [], ...given.payload };
  const services = {
    log,
    client: {} as Client,
    ...(given.onProgress && { onProgress: given.onProgress }),
    ...(given.registry && { registry: given.registry }),
  };
  return new JobContext({ class: name, jid, queue, attempt, payload, raw: JSON.stringify(payload) }, services);
}
