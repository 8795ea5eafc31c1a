/**
 * The commands that act on jobs: by jid, or on all jobs of a state that match filters.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import type { Stats } from "../../store/admin/admin.ts";
import type { Entry, Place } from "../../store/port/entries.ts";
import { editSteps } from "../../store/ops/bulk_edit.ts";
import { cancelEntries } from "../../store/ops/cancel.ts";
import { isEmptyFilter, type JobFilter } from "../../operator/query/filter.ts";
import { jobsIn } from "../../operator/query/jobs.ts";
import { windows } from "../../store/ops/scan.ts";
import { sizeOf } from "../../store/ops/job_sets.ts";
import { number } from "../../text/format.ts";
import { parseCommand } from "../terminal/args.ts";
import { Interrupted, UsageError } from "../terminal/errors.ts";
import { runBulk } from "./bulk_edit.ts";
import { confirm } from "../terminal/confirm.ts";
import { describeFilterFlags, hasFilter, parseFilter } from "./filter_flags.ts";
import { editByJid } from "./edit_by_jid.ts";
import { EDIT_FLAGS, type EditCommand, type EditFlags } from "./edit_command.ts";
import { jobColumns, jobRow } from "./job_rows.ts";
import { print, printJson } from "../terminal/output.ts";
import { LongWork } from "../terminal/progress.ts";
import { parseState, placesOf, type State } from "./states.ts";
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

/** Windows over all places; jobs that arrive meanwhile are left out. */
async function* windowsOf(store: Store, { places, filter, total }: Selected) {
  let left = total;
  for (const place of places) {
    for await (const window of windows(jobsIn({ store }, { place, filter }), { most: left })) {
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
  for await (const { rows } of windowsOf(store, selected)) {
    if (rows.length === 0) yield 0;
    else if (edit === "cancel") yield await cancelEntries(store, rows, systemClock.now());
    else yield await store.admin.edit(rows.map(({ ref }) => ref), edit, queue);
  }
}
