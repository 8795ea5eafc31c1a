/**
 * The actions of keys on the store: the same code as that of the commands with these names.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import type { Edit } from "../../store/port/entries.ts";
import { cancelJob, type CancelResult, isCancelled } from "../../store/ops/cancel.ts";
import { act } from "../../operator/actions/act.ts";
import { type AnyAction, type Deed, Refused, type Tools } from "../../operator/actions/action.ts";
import { pauseAll, pauseQueue, resumeAll, resumeQueue } from "../../operator/actions/queues.ts";
import * as workers from "../../operator/actions/workers.ts";
import type { AuditEvent } from "../../store/admin/audit.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { authorBy, record as recordEvent } from "../shared/act.ts";
import { dumpOf } from "../commands/dump.ts";
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
  let auditError = "";
  const record = (event: AuditEvent) => recordEvent(store, event, (why) => auditError = `; ${why}`);
  const plan = planOf(action);
  if (plan !== undefined) {
    try {
      await act({ store, clock: systemClock, record }, authorBy("jobs top"), plan.of, plan.input);
      return success(`${plan.done}${auditError}`);
    } catch (error) {
      if (error instanceof Refused) return failure(error.message);
      throw error;
    }
  }
  const outcome = await carryOut(store, action as OldAction);
  if (outcome.isError) return outcome;
  await record({ ...authorBy("jobs top"), ...auditRecord(action as OldAction) });
  return { ...outcome, text: outcome.text + auditError };
}

/** The operator's action of a key. */
interface Plan {
  readonly of: AnyAction<Tools>;
  readonly input: Readonly<Record<string, unknown>>;
  /** The line after it. */
  readonly done: string;
}

const PAUSES = { pause: [pauseAll, pauseQueue], resume: [resumeAll, resumeQueue] } as const;

function planOf(action: Action): Plan | undefined {
  switch (action.do) {
    case "pause":
    case "resume": {
      const { queue } = action;
      const [all, one] = PAUSES[action.do];
      const done = `${shownQueue(queue)} ${action.do}d`;
      return queue === ALL_QUEUES ? { of: all, input: {}, done } : { of: one, input: { name: queue }, done };
    }
    case "signal": {
      const { verb, workerId: id } = action;
      return { of: workers[verb].one, input: { id }, done: `${id} ${SIGNALLED[verb]}` };
    }
  }
  return undefined;
}

type OldAction = Exclude<Action, { readonly do: "pause" | "resume" | "signal" }>;

function auditRecord(action: OldAction): Deed & { readonly action: string } {
  if (action.do === "cancel") return { action: "cancel", target: action.jid, count: 1 };
  return { action: action.do === "requeue" ? "retry" : action.do, target: action.jid, count: 1 };
}

async function carryOut(store: Store, action: OldAction): Promise<Outcome> {
  if (action.do !== "cancel") return await edit(store, action.do, action.ref, action.jid);
  const result = await cancelJob(store, action.jid, systemClock.now());
  return { text: CANCELLED[result](action.jid), isError: !isCancelled(result) };
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
  const { lines, silent, elsewhere = silent } = await dumpOf(store, worker, "jobs top");
  return boundLines(lines ?? [elsewhere ?? ""]);
}

function success(text: string): Outcome {
  return { text, isError: false };
}

function failure(text: string): Outcome {
  return { text, isError: true };
}
