/**
 * A cron entry as the store keeps it: as text, with its source.
 *
 * @module
 */
import { parseLossless, stringifyLossless } from "../job/json.ts";
import type { CronEntry } from "./entry.ts";
import type { CronRecord } from "./occurrence.ts";
import type { CronState } from "./plan.ts";
import { openSchedule } from "./schedule_spec.ts";

/** The latest time that a `Date` can represent. */
const MAX_TIME_MS = 8.64e15;

/** An entry of a configuration counts as loaded for this long after a worker has last marked it as seen. */
export const LOADED_TTL_MS = 90_000;

/** The source of an entry: the configuration or program of workers, or an operator who added it at run time. */
export type CronSource = "config" | "runtime";

/** An entry with its source. */
export interface CronDefinition extends CronEntry {
  /** The source of the entry. */
  readonly source: CronSource;
}

/** Returns the text of an entry. Equal entries have equal texts. */
export function definitionText(entry: CronEntry, source: CronSource): string {
  return stringifyLossless({ ...entry, source })!;
}

/** Reads an entry; undefined if this version of the program cannot read it. */
export function readDefinition(text: string): CronDefinition | undefined {
  const read = readObject(text) as Partial<CronDefinition> | undefined;
  const isWhole = typeof read?.name === "string" && typeof read.class === "string" && Array.isArray(read.args) &&
    isSchedule(read.schedule) && typeof read.overlap === "string" && typeof read.catchUp?.policy === "string" &&
    typeof read.options === "object" && read.options !== null;
  return isWhole ? read as CronDefinition : undefined;
}

export function stateText(state: CronState): string {
  return JSON.stringify(state);
}

/** Reads a state; undefined if this version of the program cannot read it. */
export function readState(text: string): CronState | undefined {
  const read = readObject(text) as Partial<CronState> | undefined;
  return isTime(read?.considered) && isSchedule(read?.schedule) ? read as CronState : undefined;
}

/** An unreadable record is shown this far. */
const MAX_SHOWN_CHARS = 100;

/** Reads the record of a run. Never throws: one of another program has the outcome `unreadable`. */
export function readRecord(text: string): CronRecord {
  const { outcome, scheduledAt, decidedAt, jid, count, first, reason } = (readObject(text) ?? {}) as Record<
    string,
    unknown
  >;
  if (typeof outcome !== "string" || !isTime(scheduledAt) || !isTime(decidedAt)) {
    return { outcome: "unreadable", scheduledAt: NaN, decidedAt: NaN, reason: text.slice(0, MAX_SHOWN_CHARS) };
  }
  return {
    outcome: outcome as CronRecord["outcome"],
    scheduledAt,
    decidedAt,
    ...(typeof jid === "string" && { jid }),
    ...(typeof count === "number" && { count }),
    ...(isTime(first) && { first }),
    ...(typeof reason === "string" && { reason }),
  };
}

/** Returns whether a schedule is valid. Other programs write into the store, too. */
function isSchedule(value: unknown): boolean {
  const { rule, timezone, everyMs, anchor } = (value ?? {}) as Record<string, unknown>;
  if (typeof rule !== "string") return Number.isSafeInteger(everyMs) && everyMs as number > 0 && isTime(anchor);
  if (typeof timezone !== "string") return false;
  try {
    openSchedule({ rule, timezone });
    return true;
  } catch {
    return false;
  }
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= MAX_TIME_MS;
}

function readObject(text: string): unknown {
  try {
    const value: unknown = parseLossless(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
