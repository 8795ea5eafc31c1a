/**
 * Acts on jobs by jid: finds them, edits those in a fitting state, and says why others aren't changed.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import { readEnded } from "../../job/result.ts";
import type { Edit, Entry } from "../../store/port/entries.ts";
import type { Store } from "../../store/admin/store.ts";
import { cancelJobs } from "../../store/ops/cancel.ts";
import { finishedState } from "../../text/finished.ts";
import { relative } from "../../text/times.ts";
import { object, type TypeOf } from "../shapes/shape.ts";
import { choice, text } from "../shapes/values.ts";
import type { Tools } from "./action.ts";
import type { State } from "../../text/jobs.ts";
import { stateOfPlace } from "./places.ts";
import { outsideText } from "./scope.ts";

/** An action on jobs. Cancelling and deleting both remove the job; cancelling also leaves a record. */
export const JOB_ACTIONS = ["retry", "kill", "cancel", "delete", "move"] as const;
/** An action on jobs. */
export type JobAction = typeof JOB_ACTIONS[number];

/** Returns whether an action ends the job. */
export function isRemoval(action: JobAction): boolean {
  return action === "delete" || action === "cancel" || action === "kill";
}

/** The edit of each action. */
export const EDITS: Readonly<Record<Exclude<JobAction, "cancel">, Edit>> = {
  retry: "requeue",
  kill: "kill",
  delete: "delete",
  move: "requeue",
};

/** Jobs looked up by jid at the same time. */
const BATCH = 100;

/** A job that wasn't changed. */
export const failureShape = object("", {
  jid: text(""),
  code: choice(["not_found", "finished", "wrong_state", "moved", "forbidden"], ""),
  message: text(""),
});
type Failure = TypeOf<typeof failureShape>;

/** The states of the jobs that each action changes. */
export const STATES_OF: Readonly<Record<JobAction, readonly State[]>> = {
  retry: ["scheduled", "retrying", "dead"],
  kill: ["queued", "scheduled", "retrying"],
  cancel: ["queued", "scheduled", "retrying", "running"],
  delete: ["queued", "scheduled", "retrying", "dead"],
  move: ["queued", "scheduled", "retrying", "dead"],
};

/** Jobs to act on. */
interface ByJid {
  readonly action: JobAction;
  readonly jids: readonly string[];
  /** The entry of a single job, if it is still there. */
  readonly ref?: string | undefined;
  /** Of `move`: the queue. */
  readonly to?: string | undefined;
}

/** How many jobs were changed, how many of them are running and abort, and the others. */
export interface EditedJids {
  readonly changed: number;
  readonly aborted?: number;
  readonly failures?: readonly Failure[];
}

/** Acts on jobs. @param options.isDry finds out which would be changed, and changes none */
export async function editJids(
  tools: Pick<Tools, "store" | "clock" | "scope">,
  by: ByJid,
  { isDry = false }: { readonly isDry?: boolean } = {},
): Promise<EditedJids> {
  const jids = [...new Set(by.jids)];
  const failures: Failure[] = [];
  let changed = 0;
  let aborted = 0;
  for (let from = 0; from < jids.length; from += BATCH) {
    // In a deep queue, looking for many jobs takes as long as looking for one.
    const some = jids.slice(from, from + BATCH);
    const outside = await outsideOf(tools, by, some);
    failures.push(...outside.values());
    const batch = some.filter((jid) => !outside.has(jid));
    const results = by.action === "cancel" && !isDry
      ? await cancelBatch(tools, batch)
      : await editBatch(tools, by, batch, isDry);
    for (const result of results) {
      if (typeof result === "object") failures.push(result);
      else changed++;
      if (result === "aborted") aborted++;
    }
  }
  return { changed, ...(aborted > 0 && { aborted }), ...(failures.length > 0 && { failures }) };
}

type Outcome = "changed" | "aborted" | Failure;

/** Returns the jobs that are outside of the author's scope. */
async function outsideOf(
  { store, scope }: Pick<Tools, "store" | "scope">,
  { ref }: ByJid,
  jids: readonly string[],
): Promise<ReadonlyMap<string, Failure>> {
  const outside = new Map<string, Failure>();
  if (scope?.queues === undefined) return outside;
  const [one] = ref === undefined ? [] : await store.admin.get([ref]);
  for (const entry of one === undefined ? await store.jobs.find(jids) : [one]) {
    const message = outsideText(scope, entry);
    // A ref names the entry, whatever the jid is.
    const jid = one === undefined ? String(getField(entry.payload, "jid")) : jids[0]!;
    if (message !== undefined) outside.set(jid, { jid, code: "forbidden", message });
  }
  return outside;
}

async function editBatch(
  { store, clock }: Pick<Tools, "store" | "clock" | "scope">,
  { action, ref, to }: ByJid,
  jids: readonly string[],
  isDry: boolean,
): Promise<Outcome[]> {
  const [one] = ref === undefined ? [] : await store.admin.get([ref]);
  const entries: readonly Entry[] = one === undefined ? await store.jobs.find(jids) : [one];
  const found = Map.groupBy(entries, ({ payload }) => String(getField(payload, "jid")));
  return await Promise.all(jids.map(async (jid): Promise<Outcome> => {
    const entries = found.get(jid) ?? [];
    if (entries.length === 0) return await notFound(store, jid, clock.now());
    const fitting = entries.filter(({ place }) => STATES_OF[action].includes(stateOfPlace(place)));
    if (fitting.length === 0) return wrongState(jid, stateOfPlace(entries[0]!.place), action);
    if (isDry || action === "cancel") return "changed";
    const count = await store.jobs.edit(fitting.map((entry) => entry.ref), EDITS[action], to);
    return count > 0 ? "changed" : moved(jid);
  }));
}

async function cancelBatch(
  { store, clock }: Pick<Tools, "store" | "clock" | "scope">,
  jids: readonly string[],
): Promise<Outcome[]> {
  const results = await cancelJobs(store, jids, clock.now());
  return await Promise.all([...results].map(async ([jid, result]): Promise<Outcome> => {
    switch (result) {
      case "absent":
        return await notFound(store, jid, clock.now());
      case "dead":
        return wrongState(jid, "dead", "cancel");
      case "moved":
        return moved(jid);
      case "aborted":
        return "aborted";
      default:
        return "changed";
    }
  }));
}

function moved(jid: string): Failure {
  return { jid, code: "moved", message: `Job "${jid}" changed its state meanwhile; try again` };
}

const CURES: Readonly<Record<State, string>> = {
  queued: "it runs as soon as a worker is free",
  scheduled: "jobs retry runs it now",
  retrying: "jobs retry runs it now",
  dead: "jobs retry runs it again, jobs delete deletes it",
  running: "jobs cancel aborts it",
};

function wrongState(jid: string, state: State, action: JobAction): Failure {
  return { jid, code: "wrong_state", message: `Can't ${action} job "${jid}": it is ${state}; ${CURES[state]}` };
}

/** Returns the failure for a job that isn't in the store, with its end if that is recorded. */
export async function notFound(store: Pick<Store, "results" | "url">, jid: string, now: number): Promise<Failure> {
  const [record] = (await store.results.read({ jids: [jid] })).records;
  if (record === undefined) return { jid, code: "not_found", message: notFoundText(jid, store.url) };
  const job = readEnded(record);
  const message = `Job "${jid}" has finished: ${finishedState(job)} ${relative(job.endedAt, now)}`;
  return { jid, code: "finished", message };
}

/** Returns the message for a job of which the store has nothing. */
export function notFoundText(jid: string, url: string): string {
  return `Job "${jid}" not found in ${url}: it may have finished, been deleted, or be in another store`;
}

/** Returns the entries of a job: the one that the ref names, if it still exists; otherwise all with the jid. */
export async function findEntries(
  store: { readonly admin: Pick<Store["admin"], "get">; readonly jobs: Pick<Store["jobs"], "find"> },
  jid: string,
  ref: string | undefined,
): Promise<readonly Entry[]> {
  const [entry] = ref ? await store.admin.get([ref]) : [];
  if (entry) return [entry];
  return jid === "" || jid === "-" ? [] : await store.jobs.find([jid]);
}
