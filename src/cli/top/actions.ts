/**
 * The actions of keys on the store: the same code as that of the commands with these names.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import type { Edit } from "../../store/port/entries.ts";
import { act } from "../../operator/actions/act.ts";
import { type AnyAction, Refused, type Tools } from "../../operator/actions/action.ts";
import { pauseAll, pauseQueue, resumeAll, resumeQueue } from "../../operator/actions/queues.ts";
import * as workers from "../../operator/actions/workers.ts";
import type { AuditEvent } from "../../store/admin/audit.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { authorBy, record as recordEvent } from "../shared/act.ts";
import { dumpOf } from "../commands/dump.ts";
import { shownQueue } from "../../text/queues.ts";
import { jobLines } from "../commands/show.ts";
import { notFoundText } from "../../operator/actions/job_ids.ts";
import { editJobs, oneJob } from "../../operator/actions/jobs.ts";
import { boundLines } from "./text.ts";

export type Action =
  | { readonly do: "pause" | "resume"; readonly queue: string }
  | { readonly do: Edit; readonly ref: string; readonly jid: string }
  | { readonly do: "cancel"; readonly jid: string }
  | { readonly do: "signal"; readonly verb: "quiet" | "resume" | "stop"; readonly workerId: string };

export interface Outcome {
  /** One line. */
  readonly text: string;
  /** Whether nothing was changed. */
  readonly isError: boolean;
}

const EDITED: Readonly<Record<Edit, string>> = {
  requeue: "moved to its queue",
  kill: "moved to dead",
  delete: "deleted",
};

const SIGNALLED = { quiet: "is quieting", resume: "is resuming", stop: "is stopping" } as const;

/**
 * Performs an action, and records it in the audit log.
 *
 * @throws {StoreError}
 */
export async function perform(store: Store, action: Action): Promise<Outcome> {
  let auditError = "";
  const record = (event: AuditEvent) => recordEvent(store, event, (why) => auditError = `; ${why}`);
  const { of, input, done } = planOf(action);
  try {
    const out = await act({ store, clock: systemClock, record }, authorBy("jobs top"), of, input);
    return done(out, auditError);
  } catch (error) {
    if (error instanceof Refused) return failure(error.message);
    throw error;
  }
}

interface Plan {
  readonly of: AnyAction<Tools>;
  readonly input: Readonly<Record<string, unknown>>;
  readonly done: (out: { readonly changed?: number; readonly asked?: number }, more: string) => Outcome;
}

const PAUSES = { pause: [pauseAll, pauseQueue], resume: [resumeAll, resumeQueue] } as const;

function planOf(action: Action): Plan {
  switch (action.do) {
    case "pause":
    case "resume": {
      const { queue } = action;
      const [all, one] = PAUSES[action.do];
      const done: Plan["done"] = (_, more) => success(`${shownQueue(queue)} ${action.do}d${more}`);
      return queue === ALL_QUEUES ? { of: all, input: {}, done } : { of: one, input: { name: queue }, done };
    }
    case "signal": {
      const { verb, workerId: id } = action;
      return { of: workers[verb].one, input: { id }, done: (_, more) => success(`${id} ${SIGNALLED[verb]}${more}`) };
    }
    case "cancel": {
      const { jid } = action;
      const done: Plan["done"] = ({ asked }, more) =>
        success(asked ? `${jid} is running: cancelling it${more}` : `${jid} cancelled${more}`);
      return { of: oneJob.cancel, input: { jid }, done };
    }
    default: {
      // By ref rather than by jid: an unreadable job has no jid, and several jobs may have the same.
      const { ref, jid } = action;
      const input = { action: action.do === "requeue" ? "retry" : action.do, refs: [ref] };
      const done: Plan["done"] = ({ changed = 0 }, more) =>
        changed > 0
          ? success(`${jid} ${EDITED[action.do]}${more}`)
          : failure(`${jid} was moved in the meantime, or is running`);
      return { of: editJobs, input, done };
    }
  }
}

/** Returns the lines of `jobs show` about a job. */
export async function readJob(store: Store, jid: string): Promise<string[]> {
  const lines = await jobLines(store, jid);
  return boundLines(lines ?? [notFoundText(jid, store.url)]);
}

/** Returns the lines of `jobs dump` about a worker. */
export async function readDump(store: Store, workerId: string): Promise<string[]> {
  const worker = (await store.workers.list()).find((one) => one.id === workerId);
  if (worker === undefined) return [`${workerId} has ended`];
  const { lines, silent, elsewhere = silent } = await dumpOf(store, worker, "jobs top");
  return boundLines(lines ?? [elsewhere ?? ""]);
}

function success(text: string): Outcome {
  return { text, isError: false };
}

function failure(text: string): Outcome {
  return { text, isError: true };
}
