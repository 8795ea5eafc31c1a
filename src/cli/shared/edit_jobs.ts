/**
 * The commands that act on jobs, `retry`, `kill`, `cancel`, `delete` and `move`: by jid, or on all jobs of a state that match
 * filters.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import { getField } from "../../job/raw.ts";
import { readEnded } from "../../job/result.ts";
import type { Edit, Entry, Place, Stats } from "../../store/admin/admin.ts";

import { editSteps } from "../../store/ops/bulk_edit.ts";
import { cancelEntries, cancelJobs } from "../../store/ops/cancel.ts";
import { isEmptyFilter, type JobFilter } from "../../store/ops/filter.ts";
import { sizeOf } from "../../store/ops/job_sets.ts";
import { matchingWindows } from "../../store/ops/matching.ts";
import { fewOf, number } from "../../text/format.ts";
import { finishedState } from "../../text/job_json.ts";
import { relative } from "../../text/times.ts";
import { COMMON_FLAGS, type Flag, parseCommand } from "../terminal/args.ts";
import { type ErrorInfo, Interrupted, UsageError } from "../terminal/errors.ts";
import { recordAudit } from "./audit.ts";
import { runBulk } from "./bulk_edit.ts";
import { confirm, jobCount, YES } from "../terminal/confirm.ts";
import { describeFilterFlags, FILTER_FLAGS, hasFilter, parseFilter } from "./filter_flags.ts";
import { jobColumns, jobRow, stateOf } from "./job_rows.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { LongWork } from "../terminal/progress.ts";
import { parseState, placesOf, type State } from "./states.ts";
import { withStore } from "./store.ts";
import { printTable } from "../terminal/table.ts";

/** The options of every command that acts on jobs. */
export const EDIT_FLAGS = {
  ...COMMON_FLAGS,
  ...FILTER_FLAGS,
  ...YES,
  all: { takes: "text" },
  "dry-run": { takes: "switch" },
} as const satisfies Record<string, Flag>;

/** Their part of a help text. */
export const EDIT_HELP = `      --all STATE        act on all jobs in this state that match the filters
      --dry-run          count them, show some, and change nothing
  -y, --yes              don't ask before`;

/** Jobs looked up by jid at the same time. */
const BATCH = 100;
/** Jobs that `--dry-run` shows. */
const SHOWN = 10;

/** A command that acts on jobs. */
export interface EditCommand {
  readonly name: "retry" | "kill" | "cancel" | "delete" | "move";
  /** The states that `--all` accepts. */
  readonly states: readonly State[];
  /** `Delete`, `Deleting`, `Deleted`. */
  readonly words: readonly [imperative: string, participle: string, past: string];
  /** The edit in the store; `cancel` also reaches running jobs. */
  readonly edit: Edit | "cancel";
  /** Completes question and result: ` to queue "low"`. */
  readonly suffix?: string;
  /** Of `move`: the queue. */
  readonly queue?: string;
}

/** The values of {@linkcode EDIT_FLAGS}. */
export type EditFlags = ReturnType<typeof parseCommand<typeof EDIT_FLAGS>>["flags"];

/** Runs a command: parses its arguments and acts. Exit 1 if a job isn't found or can't be changed. */
export async function runEdit(command: EditCommand, argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand(command.name, argv, EDIT_FLAGS, "[JID …]");
  return await actOnJobs(command, flags, args);
}

/** Acts on the jobs that arguments and options name. */
export async function actOnJobs(command: EditCommand, flags: EditFlags, jids: readonly string[]): Promise<number> {
  const { all } = flags;
  const usage = `jobs ${command.name} JID …, or jobs ${command.name} --all ${command.states.join("|")}`;
  if (all !== undefined && jids.length > 0) {
    throw new UsageError(`Unexpected argument "${jids[0]}" with --all. Usage: ${usage}`);
  }
  if (all === undefined && jids.length === 0) {
    throw new UsageError(`Missing argument: JID or --all STATE. Usage: ${usage}`);
  }
  if (all === undefined && hasFilter(flags)) throw new UsageError(`Filters need --all STATE. Usage: ${usage}`);
  if (all === undefined) return await withStore(flags, (store) => editByJid(store, command, jids, flags));
  const state = parseState("--all", all, command.states);
  return await withStore(
    flags,
    (store, { deadMaxJobs }) => editState(store, command, state, { ...flags, deadMaxJobs }),
  );
}

interface Selected {
  readonly places: readonly Place[];
  readonly filter: JobFilter;
  /** The jobs in these places, matching or not. */
  readonly total: number;
}

async function editState(
  store: Store,
  command: EditCommand,
  state: State,
  flags: EditFlags & { readonly deadMaxJobs: number },
): Promise<number> {
  const now = systemClock.now();
  const { places, queue } = await placesOf(store, state, flags.queue);
  const stats = await store.admin.stats();
  const selected: Selected = {
    places,
    filter: { ...parseFilter({ ...flags, queue: undefined }, now), ...(queue !== undefined && { queue }) },
    total: places.reduce((sum, place) => sum + sizeOf(place, stats), 0),
  };
  const [imperative, participle, past] = command.words;
  const what = [`${state} jobs`, describeFilterFlags(flags)].filter(Boolean).join(" ");
  const suffix = command.suffix ?? "";
  const needsCount = flags["dry-run"] || !flags.yes;
  const count = needsCount ? await countSelected(store, selected, state, flags["dry-run"] && !flags.json) : undefined;
  if (flags["dry-run"]) {
    if (flags.json) printJson({ dryRun: true, matched: count });
    else print(`Would ${imperative.toLowerCase()} ${countOf(count!, what)}${suffix}`);
    return 0;
  }
  const limit = deadLimit(command, count ?? selected.total, stats, flags.deadMaxJobs);
  if (count !== undefined && count > 0) confirm(imperative, `${countOf(count, what)}${suffix}${limit}`, flags);
  const changed = count === 0 ? 0 : await runBulk(store, {
    name: command.name,
    doing: participle,
    done: past,
    target: `all ${what}`,
    details: suffix.trim() || undefined,
    total: count ?? selected.total,
    steps: stepsOf(store, command, selected),
  });
  if (flags.json) printJson({ [past.toLowerCase()]: changed });
  else print(`${past} ${countOf(changed, what)}${suffix}`);
  return 0;
}

/** Returns `1 dead job of class "A"`, `2 dead jobs of class "A"`. */
function countOf(count: number, what: string): string {
  return `${number(count)} ${count === 1 ? what.replace(" jobs", " job") : what}`;
}

/** Returns a warning if killing exceeds what the dead set keeps. */
function deadLimit({ edit }: EditCommand, count: number, stats: Stats, most: number): string {
  const over = edit === "kill" ? Math.min(stats.dead, most) + count - most : 0;
  return over > 0 ? ` (the dead set keeps the latest ${number(most)}: ${number(over)} are deleted)` : "";
}

async function countSelected(store: Store, selected: Selected, state: State, show: boolean): Promise<number> {
  if (isEmptyFilter(selected.filter) && !show) return selected.total;
  using work = new LongWork("Counting");
  const shown: Entry[] = [];
  let count = 0;
  let looked = 0;
  for await (const window of windowsOf(store, selected)) {
    count += window.entries.length;
    shown.push(...window.entries.slice(0, SHOWN - shown.length));
    work.at({ done: looked += window.looked, total: selected.total });
    if (work.signal.aborted) throw new Interrupted(`Interrupted: nothing changed`);
  }
  work.clear();
  if (show && shown.length > 0) {
    printTable(jobColumns(state), shown.map((entry) => jobRow(state, entry, { now: systemClock.now() })), "");
    if (count > shown.length) print(`… and ${number(count - shown.length)} more`);
  }
  return count;
}

/** Windows over all places; jobs that arrive meanwhile are left out. */
async function* windowsOf(store: Store, { places, filter, total }: Selected) {
  let left = total;
  for (const place of places) {
    for await (const window of matchingWindows(store, { place, filter, most: left })) {
      left -= window.looked;
      yield window;
    }
  }
}

async function* stepsOf(store: Store, command: EditCommand, selected: Selected): AsyncGenerator<number> {
  const { edit, queue } = command;
  if (edit !== "cancel" && queue === undefined && isEmptyFilter(selected.filter)) {
    // The store edits whole places without sending the jobs to and fro.
    let left = selected.total;
    for (const place of selected.places) {
      for await (const changed of editSteps(store, { place, edit, total: left })) {
        left -= changed;
        yield changed;
      }
    }
    return;
  }
  for await (const { entries } of windowsOf(store, selected)) {
    if (entries.length === 0) yield 0;
    else if (edit === "cancel") yield await cancelEntries(store, entries, systemClock.now());
    else yield await store.admin.edit(entries.map(({ ref }) => ref), edit, queue);
  }
}

/** A job that wasn't changed. */
interface Failure extends ErrorInfo {
  readonly jid: string;
}

async function editByJid(
  store: Store,
  command: EditCommand,
  given: readonly string[],
  flags: EditFlags,
): Promise<number> {
  const jids = [...new Set(given)];
  const failures: Failure[] = [];
  let changed = 0;
  for (let from = 0; from < jids.length; from += BATCH) {
    // In a deep queue, looking for many jobs takes as long as looking for one.
    const batch = jids.slice(from, from + BATCH);
    const results = await (flags["dry-run"] ? lookUp : command.edit === "cancel" ? cancelBatch : editBatch)(
      store,
      command,
      batch,
    );
    for (const [jid, result] of results) {
      if (result === true) changed++;
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
  return failures.length === 0 ? 0 : 1;
}

type Outcome = readonly [jid: string, result: true | ErrorInfo];

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
    return [jid, count > 0 || { code: "moved", message: `Job "${jid}" changed its state meanwhile; try again` }];
  }));
}

async function cancelBatch(store: Store, command: EditCommand, jids: readonly string[]): Promise<Outcome[]> {
  const results = await cancelJobs(store, jids, systemClock.now());
  return await Promise.all([...results].map(async ([jid, result]): Promise<Outcome> => [
    jid,
    result === "absent" ? await notFound(store, jid) : result === "dead" ? wrongState(jid, "dead", command) : true,
  ]));
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
  const record = await store.results.get(jid);
  if (record === undefined) return { code: "not_found", message: notFoundText(jid, store.url) };
  const job = readEnded(record);
  return {
    code: "finished",
    message: `Job "${jid}" has finished: ${finishedState(job)} ${relative(job.ended_at, systemClock.now())}`,
  };
}

/** Returns the message for a job of which the store has nothing. */
export function notFoundText(jid: string, url: string): string {
  return `Job "${jid}" not found in ${url}: it may have finished, been deleted, or be in another store`;
}
