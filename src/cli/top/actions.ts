/**
 * The actions of keys on the store: the same code as that of the commands with these names.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import type { Edit } from "../../store/admin/admin.ts";
import { cancelJob, type CancelResult, isCancelled } from "../../store/ops/cancel.ts";
import { pauseTarget } from "../../store/port/paused_queues.ts";
import { recordAudit } from "../shared/audit.ts";
import { dumpOf, silentText } from "../commands/dump.ts";
import { shownQueue } from "../shared/queue_rows.ts";
import { jobLines } from "../commands/show.ts";
import { notFoundText } from "../shared/edit_by_jid.ts";
import { boundLines } from "./text.ts";

/** An action of the operator. */
export type Action =
  | { readonly do: "pause" | "resume"; readonly queue: string }
  | { readonly do: Edit; readonly ref: string; readonly jid: string }
  | { readonly do: "cancel"; readonly jid: string }
  | { readonly do: "signal"; readonly verb: "quiet" | "resume" | "stop"; readonly workerId: string };

/** The outcome of an action. */
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

const CANCELLED: Readonly<Record<CancelResult, (jid: string) => string>> = {
  removed: (jid) => `${jid} cancelled`,
  aborted: (jid) => `${jid} is running: cancelling it`,
  dead: (jid) => `${jid} is dead: delete it instead`,
  moved: (jid) => `${jid} changed its state meanwhile: try again`,
  absent: (jid) => `${jid} not found: it may have finished`,
};

/**
 * Performs an action, and records it in the audit log.
 *
 * @throws {StoreError}
 */
export async function perform(store: Store, action: Action): Promise<Outcome> {
  const outcome = await carryOut(store, action);
  if (outcome.isError) return outcome;
  let auditError = "";
  await recordAudit(store, auditRecord(action), "jobs top", (why) => auditError = `; ${why}`);
  return { ...outcome, text: outcome.text + auditError };
}

function auditRecord(action: Action): Parameters<typeof recordAudit>[1] {
  switch (action.do) {
    case "pause":
    case "resume":
      return { action: action.do, target: pauseTarget(action.queue) };
    case "cancel":
      return { action: "cancel", target: action.jid, count: 1 };
    case "signal":
      return { action: action.verb, target: action.workerId };
    default:
      return { action: action.do === "requeue" ? "retry" : action.do, target: action.jid, count: 1 };
  }
}

async function carryOut(store: Store, action: Action): Promise<Outcome> {
  switch (action.do) {
    case "pause":
    case "resume":
      await store.admin.pause(action.queue, action.do === "resume" ? 0 : undefined);
      return success(`${shownQueue(action.queue)} ${action.do}d`);
    case "cancel": {
      const result = await cancelJob(store, action.jid, systemClock.now());
      return { text: CANCELLED[result](action.jid), isError: !isCancelled(result) };
    }
    case "signal":
      return await store.workers.send(action.workerId, { verb: action.verb })
        ? success(`${action.workerId} ${SIGNALLED[action.verb]}`)
        : failure(`${action.workerId} is offline`);
    default:
      return await edit(store, action.do, action.ref, action.jid);
  }
}

/** Edits by ref rather than by jid: an unreadable job has no jid, and several jobs may have the same. */
async function edit(store: Store, edit: Edit, ref: string, jid: string): Promise<Outcome> {
  return await store.admin.edit([ref], edit) > 0
    ? success(`${jid} ${EDITED[edit]}`)
    : failure(`${jid} was moved in the meantime, or is running`);
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
  return boundLines((await dumpOf(store, worker) ?? silentText(worker)).split("\n"));
}

function success(text: string): Outcome {
  return { text, isError: false };
}

function failure(text: string): Outcome {
  return { text, isError: true };
}
