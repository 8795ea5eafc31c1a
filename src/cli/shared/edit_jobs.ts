/**
 * The commands that act on jobs, `retry`, `kill`, `cancel`, `delete` and `move`: by jid, or on all jobs of a state that match filters.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import type { Entry } from "../../store/port/entries.ts";
import { getField } from "../../job/raw.ts";
import { endedProcesses } from "../../processes.ts";
import { editJids, isRemoval, type JobAction } from "../../operator/actions/job_ids.ts";
import { editJobs } from "../../operator/actions/jobs.ts";
import { type All, select, type Selected, windowsOf } from "../../operator/actions/selection.ts";
import { isEmptyFilter } from "../../operator/query/filter.ts";
import { stallsOf } from "../../store/ops/stalls.ts";
import { number } from "../../text/format.ts";
import { goneText } from "../../text/workers.ts";
import { cancelText } from "../../text/processes.ts";
import { stallCure, stallText } from "../../text/stalls.ts";
import { COMMON_FLAGS, type Flag, parseCommand } from "../terminal/args.ts";
import { Interrupted, UsageError } from "../terminal/errors.ts";
import { actHere } from "./act.ts";
import { actInSteps } from "./bulk_edit.ts";
import { attempt } from "./report.ts";
import { confirm, confirmHere, jobCount, YES } from "../terminal/confirm.ts";
import { criteriaOf, describeFilterFlags, FILTER_FLAGS, hasFilter, parseFilter } from "./filter_flags.ts";
import { jobRow } from "./job_rows.ts";
import { jobColumns, type State } from "../../text/jobs.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { LongWork } from "../terminal/progress.ts";
import { parseState } from "./states.ts";
import { withStore } from "./store.ts";
import { remarkUndo, undoOf } from "./undo.ts";
import { printList } from "../terminal/table.ts";

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

/** A command that acts on jobs. */
export interface EditCommand {
  readonly name: JobAction;
  /** The states that `--all` accepts. */
  readonly states: readonly State[];
  /** `Delete`, `Deleting`, `Deleted`. */
  readonly words: readonly [imperative: string, participle: string, past: string];
  /** Completes question and result: ` to queue "low"`. */
  readonly suffix?: string;
  /** Of `move`: the queue. */
  readonly queue?: string;
}

/** The values of {@linkcode EDIT_FLAGS}. */
export type EditFlags = ReturnType<typeof parseCommand<typeof EDIT_FLAGS>>["flags"];

/** Jobs that `--dry-run` shows. */
const MAX_SHOWN = 10;

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

async function editState(
  store: Store,
  command: EditCommand,
  state: State,
  flags: EditFlags & { readonly deadMaxJobs: number },
): Promise<number> {
  const all: All = { in: state, ...criteriaOf(flags) };
  const asOf = systemClock.now();
  parseFilter(flags, asOf);
  const selected = await select(store, all, asOf);
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
  const limit = await deadLimit(store, command, count ?? selected.total, flags.deadMaxJobs);
  if (count !== undefined && count > 0) confirm(imperative, `${countOf(count, what)}${suffix}${limit}`, flags);
  const raw = { action: command.name, all, ...(command.queue !== undefined && { queue: command.queue }) };
  const words = { doing: participle, done: past, total: count, asOf };
  const { changed = 0 } = count === 0 ? {} : await actInSteps(store, editJobs, raw, words);
  if (flags.json) printJson({ [past.toLowerCase()]: changed });
  else print(`${past} ${countOf(changed, what)}${suffix}`);
  return 0;
}

/** Returns `1 dead job of class "A"`, `2 dead jobs of class "A"`. */
function countOf(count: number, what: string): string {
  return `${number(count)} ${count === 1 ? what.replace(" jobs", " job") : what}`;
}

/** Returns a warning if killing exceeds what the dead set keeps. */
async function deadLimit({ admin }: Store, { name }: EditCommand, count: number, most: number): Promise<string> {
  const over = name === "kill" ? Math.min((await admin.stats()).dead, most) + count - most : 0;
  return over > 0 ? ` (the dead set keeps the latest ${number(most)}: ${number(over)} are deleted)` : "";
}

async function countSelected(store: Store, selected: Selected, state: State, show: boolean): Promise<number> {
  if (isEmptyFilter(selected.filter) && !show) return selected.total;
  using work = new LongWork("Counting");
  const shown: Entry[] = [];
  let count = 0;
  let looked = 0;
  for await (const window of windowsOf({ store }, selected)) {
    count += window.rows.length;
    shown.push(...window.rows.slice(0, MAX_SHOWN - shown.length));
    work.at({ done: looked += window.looked, total: selected.total });
    if (work.signal.aborted) throw new Interrupted(`Interrupted: nothing changed`);
  }
  work.clear();
  if (show && shown.length > 0) {
    printList(jobColumns(state, (entry: Entry) => jobRow(entry)), shown, "");
    if (count > shown.length) print(`… and ${number(count - shown.length)} more`);
  }
  return count;
}

/** Acts on the jobs with these jids. Returns the exit code: 1 if a job isn't found or can't be changed. */
async function editByJid(
  store: Store,
  { name: action, queue, words: [imperative, , past], suffix = "" }: EditCommand,
  jids: readonly string[],
  flags: EditFlags,
): Promise<number> {
  const isDry = flags["dry-run"];
  if (!isDry && isRemoval(action)) confirmHere(imperative, await removedText(store, jids, action), flags);
  const given = { action, jids, ...(queue !== undefined && { queue }) };
  const before = isDry || flags.json ? [] : await store.jobs.find(jids);
  const { changed = 0, aborted = 0, failures = [] } = isDry
    ? await editJids({ store, clock: systemClock }, given, { isDry })
    : await actHere(store, editJobs, given);
  for (const { message } of failures) printError(`jobs: ${message}`);
  if (flags.json) {
    const [first] = failures;
    printJson({
      [isDry ? "matched" : past.toLowerCase()]: changed,
      ...(isDry && { dryRun: true }),
      ...(first && { error: { code: first.code, message: first.message }, errors: failures }),
    });
  } else if (isDry) print(`Would ${imperative.toLowerCase()} ${jobCount(changed)}${suffix}`);
  else if (changed > 0 || failures.length === 0) print(`${past} ${jobCount(changed)}${suffix}`);
  if (failures.length === 0) remarkUndo(undoOf(action, jids, before));
  if (aborted > 0 && !flags.json) await attempt(() => reportAborted(store, aborted, jids, before));
  return failures.length === 0 ? 0 : 1;
}

/** Returns the jobs that an action removes; of a single one that is deleted, with the results of steps that are lost. */
async function removedText(store: Store, jids: readonly string[], action: JobAction): Promise<string> {
  const [jid = ""] = jids;
  if (jids.length > 1) return jobCount(jids.length);
  const steps = action === "delete" ? await store.steps.read(jid) : [];
  return `job "${jid}"${
    steps.length === 0 ? "" : ` and the results of its steps ${steps.map(({ name }) => name).join(", ")}`
  }`;
}

/** Tells when running jobs that were cancelled end, and which of them can't: their workers are blocked, or their processes can't run. */
async function reportAborted(
  store: Store,
  count: number,
  jids: readonly string[],
  before: readonly Entry[],
): Promise<void> {
  const workers = await store.workers.list();
  const states = endedProcesses(workers.filter(({ id }) => before.some(({ worker }) => worker === id)));
  for (const [id, state] of states) {
    printError(`jobs: ${cancelText(id, state)}`);
  }
  const gone = new Map(workers.flatMap((worker) => {
    const isRunner = !states.has(worker.id) && before.some((entry) => entry.worker === worker.id);
    const why = isRunner ? goneText(worker, systemClock.now()) : undefined;
    return why === undefined ? [] : [[worker.id, why]];
  }));
  for (const [id, why] of gone) printError(`jobs: worker ${id} ${why}; its cancelled jobs end with their rescue`);
  const running =
    before.filter(({ worker }) => worker !== undefined && !states.has(worker) && !gone.has(worker)).length;
  const left = states.size + gone.size === 0 ? count : running;
  if (left === 0) return;
  const it = left === 1 ? "it" : "each";
  printError(
    `jobs: ${jobCount(left, "running")} aborted: ${it} ends when its handler heeds its signal; jobs show ${
      jids.length === 1 ? jids[0] : "JID"
    }`,
  );
  const runners = workers.filter(({ work }) =>
    work.some(({ payload }) => jids.includes(String(getField(payload, "jid"))))
  );
  for (const stall of stallsOf(runners)) {
    if (stall.is === "blocked") printError(`jobs: ${stallText(stall, systemClock.now())}: ${stallCure(stall)}`);
  }
}
