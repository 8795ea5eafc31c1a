/**
 * The commands that act on jobs: by jid, or on all jobs of a state that match filters.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import type { Entry } from "../../store/port/entries.ts";
import { editJobs } from "../../operator/actions/jobs.ts";
import { type All, select, type Selected, windowsOf } from "../../operator/actions/selection.ts";
import { isEmptyFilter } from "../../operator/query/filter.ts";
import { number } from "../../text/format.ts";
import { parseCommand } from "../terminal/args.ts";
import { Interrupted, UsageError } from "../terminal/errors.ts";
import { actInSteps } from "./bulk_edit.ts";
import { confirm } from "../terminal/confirm.ts";
import { criteriaOf, describeFilterFlags, hasFilter, parseFilter } from "./filter_flags.ts";
import { editByJid } from "./edit_by_jid.ts";
import { EDIT_FLAGS, type EditCommand, type EditFlags } from "./edit_command.ts";
import { jobColumns, jobRow } from "./job_rows.ts";
import { print, printJson } from "../terminal/output.ts";
import { LongWork } from "../terminal/progress.ts";
import type { State } from "../../operator/actions/places.ts";
import { parseState } from "./states.ts";
import { withStore } from "./store.ts";
import { printTable } from "../terminal/table.ts";

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
    printTable(jobColumns(state), shown.map((entry) => jobRow(state, entry, { now: systemClock.now() })), "");
    if (count > shown.length) print(`… and ${number(count - shown.length)} more`);
  }
  return count;
}
