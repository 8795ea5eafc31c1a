/**
 * An entry as it stands in the store: as text, with where it comes from.
 *
 * @module
 */
import { parseLossless, stringifyLossless } from "../job/json.ts";
import type { CronEntry } from "./entry.ts";
import type { CronState } from "./plan.ts";
import { openSchedule } from "./schedule_spec.ts";

/** The last moment that a `Date` can hold. */
const LAST_TIME_MS = 8.64e15;

/** An entry of configurations that no process has said to carry for so long is carried by none. */
export const CARRIED_MS = 90_000;

/** Where an entry comes from: a configuration or a program that processes carry, or somebody added it as it went. */
export type CronSource = "config" | "runtime";

/** An entry, and where it comes from. */
export interface CronDefinition extends CronEntry {
  /** Where it comes from. */
  readonly source: CronSource;
}

/** An entry's text. Equal texts say the same. */
export function definitionText(entry: CronEntry, source: CronSource): string {
  return stringifyLossless({ ...entry, source })!;
}

/** What the text says; undefined when this version of the program does not understand it. */
export function readDefinition(text: string): CronDefinition | undefined {
  const read = readObject(text) as Partial<CronDefinition> | undefined;
  const isWhole = typeof read?.name === "string" && typeof read.class === "string" && Array.isArray(read.args) &&
    isSchedule(read.schedule) && typeof read.overlap === "string" && typeof read.catchUp?.policy === "string" &&
    typeof read.options === "object";
  return isWhole ? read as CronDefinition : undefined;
}

/** A state's text. */
export function stateText(state: CronState): string {
  return JSON.stringify(state);
}

/** What the text says; undefined when this version of the program does not understand it. */
export function readState(text: string): CronState | undefined {
  const read = readObject(text) as Partial<CronState> | undefined;
  return isTime(read?.considered) && isSchedule(read?.schedule) ? read as CronState : undefined;
}

/** Whether it has times, and an end can be found in them: others write into the store too. */
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

function isTime(value: unknown): boolean {
  return typeof value === "number" && Math.abs(value) <= LAST_TIME_MS;
}

function readObject(text: string): unknown {
  try {
    const value: unknown = parseLossless(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
