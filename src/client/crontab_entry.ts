/**
 * A stored cron entry as the crontab shows it.
 *
 * @module
 */
import { CrontabError } from "../cron/crontab.ts";
import {
  type CronDefinition,
  definitionText,
  indexOf,
  LOADED_TTL_MS,
  readDefinition,
  readState,
  stateText,
} from "../cron/definition.ts";
import type { CronEntry } from "../cron/entry.ts";
import type { CronRecord } from "../cron/occurrence.ts";
import { type CronState, plan } from "../cron/plan.ts";
import { openSchedule } from "../cron/schedule_spec.ts";
import type { CronWrite, StoredCron } from "../store/port/cron.ts";

/** A change of an entry. */
export type Change = Omit<CronWrite, "name" | "version">;

/** A cron entry of the store. */
export interface CrontabEntry {
  /** The name of the entry. */
  readonly name: string;
  /** The definition; undefined if a newer version of the program wrote it. */
  readonly definition: CronDefinition | undefined;
  /** The state; undefined if a newer version of the program wrote it. */
  readonly state: CronState | undefined;
  /** The time of the next run, epoch milliseconds; undefined if the entry is paused, isn't loaded, or has no further run. */
  readonly next: number | undefined;
  /** The jid of the job that was enqueued last, until it has ended. */
  readonly live: string | undefined;
  /** Whether workers enqueue its runs: a worker has it in its configuration, or it was added at run time. */
  readonly isLoaded: boolean;
  /** The outcome of its latest run. */
  readonly last: CronRecord | undefined;
}

/** A page of entries. */
export interface CrontabPage {
  /** The entries. */
  readonly entries: readonly CrontabEntry[];
  /** Pass it as `cursor` to get the next page; absent on the last. */
  readonly next?: string;
}

/** Returns an entry as the crontab shows it. */
export function show(stored: StoredCron, now: number): CrontabEntry {
  const { name, live } = stored;
  const definition = readDefinition(stored);
  const state = readState(stored.state, definition);
  const loaded = definition !== undefined && isLoaded(definition, stored, now);
  const runs = loaded && !state?.paused;
  return {
    name,
    definition,
    state,
    next: runs ? openSchedule(definition.schedule).next(Math.max(now, state?.considered ?? now)) : undefined,
    live,
    isLoaded: loaded,
    last: state?.last,
  };
}

/**
 * Returns the definition of an entry.
 *
 * @throws {CrontabError} if it doesn't exist, or a newer version wrote it
 */
export function definitionOf(name: string, stored: StoredCron | undefined): CronDefinition {
  if (stored === undefined) throw notFound(name);
  const definition = readDefinition(stored);
  if (definition === undefined) {
    throw new CrontabError(`Cron entry "${name}" was written by a newer version of jobs; use that version`);
  }
  return definition;
}

/** Returns the state of an entry. */
export function stateOf({ state }: StoredCron, definition: CronDefinition, now: number): CronState {
  return readState(state, definition) ?? plan(definition, undefined, now).state;
}

/** Returns whether workers have an entry. */
export function isLoaded({ source }: CronDefinition, { seenAt }: StoredCron, now: number): boolean {
  return source === "runtime" || now - seenAt <= LOADED_TTL_MS;
}

/** Returns a change that enqueues nothing. */
export function unchanged(state: CronState, { schedule }: CronDefinition): Change {
  return { state: stateText(state, schedule), jobs: [], awaited: state.waiting !== undefined, records: [] };
}

/** The entry doesn't exist. */
export function notFound(name: string): CrontabError {
  return new CrontabError(`Cron entry "${name}" not found; see jobs cron list`);
}

/** Other writers changed the entry again and again. */
export function busy(name: string, attempts: number): CrontabError {
  return new CrontabError(`Cron entry "${name}" was changed by others ${attempts} times in a row; try again`);
}

/** Returns whether a running worker has the entry in its configuration. */
export function isConfigured(stored: StoredCron, now: number): boolean {
  const definition = readDefinition(stored);
  return definition?.source === "config" && isLoaded(definition, stored, now);
}

/**
 * Checks that an entry may be added.
 *
 * @throws {CrontabError} if its name is taken
 */
export function checkFree(name: string, stored: StoredCron | undefined, now: number, replace: boolean): void {
  if (stored === undefined) return;
  if (isConfigured(stored, now)) {
    throw new CrontabError(`Cron entry "${name}" is defined in a configuration; change it there, or use another name`);
  }
  if (!replace && readDefinition(stored)?.source === "runtime") {
    throw new CrontabError(`Cron entry "${name}" already exists; replace it, or use another name`);
  }
}

/** Returns the change that adds an entry; undefined if an equal one was added before. */
export function added(entry: CronEntry, stored: StoredCron | undefined, now: number): Change | undefined {
  const text = definitionText(entry, "runtime");
  if (stored?.definition === text) return undefined;
  const definition = { ...entry, source: "runtime" as const };
  const kept = stored && readState(stored.state, readDefinition(stored));
  const planned = plan(definition, kept, now);
  // A worker enqueues the runs that the old schedule still owes.
  const isOwed = planned.due.length > 0 || planned.missed !== undefined;
  return {
    ...unchanged(isOwed ? { ...kept!, changedAt: kept!.changedAt ?? now } : planned.state, definition),
    ...indexOf(definition),
    definition: text,
    next: isOwed ? now : planned.next,
  };
}
