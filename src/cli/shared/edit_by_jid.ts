/**
 * The commands that act on jobs, by jid: finds the jobs, edits those in a fitting state, and reports the others.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import { getField } from "../../job/raw.ts";
import { readEnded } from "../../job/result.ts";
import type { Edit } from "../../store/port/entries.ts";
import { cancelJobs } from "../../store/ops/cancel.ts";
import { stallsOf } from "../../store/ops/stalls.ts";
import { fewOf } from "../../text/format.ts";
import { finishedState } from "../../text/job_json.ts";
import { stallCure, stallText } from "../../text/stalls.ts";
import { relative } from "../../text/times.ts";
import { jobCount } from "../terminal/confirm.ts";
import type { ErrorInfo } from "../terminal/errors.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { recordAudit } from "./audit.ts";
import { attempt } from "./report.ts";
import type { EditCommand, EditFlags } from "./edit_command.ts";
import { stateOf } from "./job_rows.ts";
import type { State } from "./states.ts";

/** Jobs looked up by jid at the same time. */
const BATCH = 100;

/** A job that wasn't changed. */
interface Failure extends ErrorInfo {
  readonly jid: string;
}

/** Acts on the jobs with these jids. Returns the exit code: 1 if a job isn't found or can't be changed. */
export async function editByJid(
  store: Store,
  command: EditCommand,
  given: readonly string[],
  flags: EditFlags,
): Promise<number> {
  const jids = [...new Set(given)];
  const failures: Failure[] = [];
  let changed = 0;
  let aborted = 0;
  for (let from = 0; from < jids.length; from += BATCH) {
    // In a deep queue, looking for many jobs takes as long as looking for one.
    const batch = jids.slice(from, from + BATCH);
    const results = await (flags["dry-run"] ? lookUp : command.edit === "cancel" ? cancelBatch : editBatch)(
      store,
      command,
      batch,
    );
    for (const [jid, result] of results) {
      if (result === "aborted") aborted++;
      if (result === true || result === "aborted") changed++;
      else failures.push({ jid, ...result });
    }
  }
  const [imperative, , past] = command.words;
  const suffix = command.suffix ?? "";
  if (!flags["dry-run"]) {
    const details = suffix.trim();
    await recordAudit(store, {
      action: command.name,
      target: fewOf(jids),
      count: changed,
      ...(details !== "" && { details }),
    });
  }
  for (const { message } of failures) printError(`jobs: ${message}`);
  if (flags.json) {
    const [first] = failures;
    printJson({
      [flags["dry-run"] ? "matched" : past.toLowerCase()]: changed,
      ...(flags["dry-run"] && { dryRun: true }),
      ...(first && { error: { code: first.code, message: first.message }, errors: failures }),
    });
  } else if (flags["dry-run"]) print(`Would ${imperative.toLowerCase()} ${jobCount(changed)}${suffix}`);
  else if (changed > 0 || failures.length === 0) print(`${past} ${jobCount(changed)}${suffix}`);
  if (aborted > 0 && !flags.json) await attempt(() => reportAborted(store, aborted, jids));
  return failures.length === 0 ? 0 : 1;
}

/** Tells when running jobs that were cancelled end, and which of them can't: their workers are blocked. */
async function reportAborted(store: Store, count: number, jids: readonly string[]): Promise<void> {
  const it = count === 1 ? "it" : "each";
  printError(
    `jobs: ${jobCount(count, "running")} aborted: ${it} ends when its handler heeds its signal; jobs show ${
      jids.length === 1 ? jids[0] : "JID"
    }`,
  );
  const workers = (await store.workers.list()).filter(({ work }) =>
    work.some(({ payload }) => jids.includes(String(getField(payload, "jid"))))
  );
  for (const stall of stallsOf(workers)) {
    if (stall.is === "blocked") printError(`jobs: ${stallText(stall, systemClock.now())}: ${stallCure(stall)}`);
  }
}

/** The result for a job: changed, cancelled while it was running, or an error. */
type Outcome = readonly [jid: string, result: true | "aborted" | ErrorInfo];

async function lookUp(store: Store, command: EditCommand, jids: readonly string[]): Promise<Outcome[]> {
  const found = Map.groupBy(await store.admin.find(jids), ({ payload }) => getField(payload, "jid"));
  return await Promise.all(jids.map(async (jid): Promise<Outcome> => {
    const entries = found.get(jid) ?? [];
    const fits = entries.some((entry) => command.states.includes(stateOf(entry)));
    return [
      jid,
      entries.length === 0 ? await notFound(store, jid) : fits || wrongState(jid, stateOf(entries[0]!), command),
    ];
  }));
}

async function editBatch(store: Store, command: EditCommand, jids: readonly string[]): Promise<Outcome[]> {
  const edit = command.edit as Edit;
  const found = Map.groupBy(await store.admin.find(jids), ({ payload }) => getField(payload, "jid"));
  return await Promise.all(jids.map(async (jid): Promise<Outcome> => {
    const entries = found.get(jid) ?? [];
    const fitting = entries.filter((entry) => command.states.includes(stateOf(entry)));
    if (entries.length === 0) return [jid, await notFound(store, jid)];
    if (fitting.length === 0) return [jid, wrongState(jid, stateOf(entries[0]!), command)];
    const count = await store.admin.edit(fitting.map((entry) => entry.ref), edit, command.queue);
    return [jid, count > 0 || moved(jid)];
  }));
}

async function cancelBatch(store: Store, command: EditCommand, jids: readonly string[]): Promise<Outcome[]> {
  const results = await cancelJobs(store, jids, systemClock.now());
  return await Promise.all([...results].map(async ([jid, result]): Promise<Outcome> => [
    jid,
    result === "absent"
      ? await notFound(store, jid)
      : result === "dead"
      ? wrongState(jid, "dead", command)
      : result === "moved"
      ? moved(jid)
      : result === "aborted"
      ? result
      : true,
  ]));
}

function moved(jid: string) {
  return { code: "moved", message: `Job "${jid}" changed its state meanwhile; try again` } as const;
}

const CURES: Readonly<Record<State, string>> = {
  queued: "it runs as soon as a worker is free",
  scheduled: "jobs retry runs it now",
  retrying: "jobs retry runs it now",
  dead: "jobs retry runs it again, jobs delete deletes it",
  running: "jobs cancel aborts it",
};

function wrongState(jid: string, state: State, { name }: EditCommand): ErrorInfo {
  return { code: "wrong_state", message: `Can't ${name} job "${jid}": it is ${state}; ${CURES[state]}` };
}

/** Returns the error for a job that isn't in the store, with its end if that is recorded. */
export async function notFound(store: Pick<Store, "results" | "url">, jid: string): Promise<ErrorInfo> {
  const record = (await store.results.read({ jids: [jid] })).records[0];
  if (record === undefined) return { code: "not_found", message: notFoundText(jid, store.url) };
  const job = readEnded(record);
  return {
    code: "finished",
    message: `Job "${jid}" has finished: ${finishedState(job)} ${relative(job.endedAt, systemClock.now())}`,
  };
}

/** Returns the message for a job of which the store has nothing. */
export function notFoundText(jid: string, url: string): string {
  return `Job "${jid}" not found in ${url}: it may have finished, been deleted, or be in another store`;
}
