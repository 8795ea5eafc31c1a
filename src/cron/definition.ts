/**
 * A cron entry as the store keeps it: as text, with its source.
 *
 * @module
 */
import { parseLossless, stringifyLossless } from "../job/json.ts";
import { areValidBounds } from "./bounds.ts";
import type { CronEntry } from "./entry.ts";
import type { CronRecord } from "./occurrence.ts";
import { type CronState, DEFAULT_CATCH_UP_WINDOW_MS } from "./plan.ts";
import { isSameSchedule, openSchedule, type ScheduleSpec } from "./schedule_spec.ts";

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

/** The fields that a text lacks if an entry has these values: a store may keep a million entries. */
const DEFAULTS = {
  args: [],
  options: {},
  overlap: "allow",
  catchUp: { policy: "last", windowMs: DEFAULT_CATCH_UP_WINDOW_MS },
  everyProcess: false,
  source: "runtime",
} as const satisfies Partial<CronDefinition>;

/** The names of fields in a text, for the same reason. The name isn't in it. */
const FIELDS = {
  ...{ s: "schedule", c: "class", a: "args", o: "options", m: "memo" },
  ...{ v: "overlap", k: "catchUp", e: "everyProcess", f: "source" },
};
const SCHEDULE_FIELDS = {
  ...{ r: "rule", z: "timezone", i: "everyMs", a: "anchor" },
  ...{ b: "start", e: "end", p: "spreadMs", o: "offsetMs" },
};

function shorten(object: object, fields: Readonly<Record<string, string>>): object {
  const given = object as Readonly<Record<string, unknown>>;
  const all = Object.entries(fields).filter(([, long]) => given[long] !== undefined);
  return Object.fromEntries(all.map(([short, long]) => [short, given[long]]));
}

function lengthen(object: object, fields: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [Object.hasOwn(fields, name) ? fields[name]! : name, value]),
  );
}

/** Returns the text of an entry, without its name. Equal entries have equal texts. */
export function definitionText(entry: CronEntry, source: CronSource): string {
  const isDefault = (field: string, value: unknown) =>
    Object.hasOwn(DEFAULTS, field) &&
    stringifyLossless(value) === stringifyLossless(DEFAULTS[field as keyof typeof DEFAULTS]);
  const given = Object.entries({ ...entry, source }).filter(([field, value]) => !isDefault(field, value));
  const schedule = shorten(entry.schedule, SCHEDULE_FIELDS);
  return stringifyLossless(shorten({ ...Object.fromEntries(given), schedule }, FIELDS))!;
}

/** Reads an entry; undefined if this version of the program cannot read it. */
export function readDefinition(
  { name, definition: text }: { readonly name: string; readonly definition: string },
): CronDefinition | undefined {
  const object = readObject(text);
  if (object === undefined) return undefined;
  const given = lengthen(object, FIELDS) as Partial<CronDefinition>;
  if (typeof given.schedule !== "object" || given.schedule === null) return undefined;
  const schedule = lengthen(given.schedule, SCHEDULE_FIELDS);
  const read = { ...DEFAULTS, ...given, name, schedule } as Partial<CronDefinition>;
  const isWhole = typeof read.class === "string" && Array.isArray(read.args) &&
    isSchedule(read.schedule) && typeof read.overlap === "string" && typeof read.catchUp?.policy === "string" &&
    typeof read.options === "object" && read.options !== null;
  return isWhole ? read as CronDefinition : undefined;
}

/** Returns whether any worker may decide on an entry: no configuration has it, and it is enqueued. */
export function isShared({ source, everyProcess }: CronDefinition): boolean {
  return source === "runtime" && !everyProcess;
}

/** Returns the tags of an entry: those of its jobs. */
export function tagsOf({ options: { tags } }: CronEntry): readonly string[] {
  return Array.isArray(tags) ? [...new Set(tags.filter((tag) => typeof tag === "string" && !tag.includes("\n")))] : [];
}

/** Returns how the store finds an entry with this definition. */
export function indexOf(definition: CronDefinition): { readonly shared: boolean; readonly tags: readonly string[] } {
  return { shared: isShared(definition), tags: tagsOf(definition) };
}

/** Returns the text of a state. The schedule is left out if it is that of the definition. */
export function stateText({ schedule, ...state }: CronState, defined: ScheduleSpec): string {
  return JSON.stringify(isSameSchedule(schedule, defined) ? state : { schedule, ...state });
}

/**
 * Reads a state; undefined if this version of the program cannot read it.
 *
 * @param definition the stored definition that belongs to it, if it is readable
 */
export function readState(text: string, definition: CronEntry | undefined): CronState | undefined {
  const read = { schedule: definition?.schedule, ...readObject(text) } as Partial<CronState>;
  return isTime(read.considered) && isSchedule(read.schedule) ? read as CronState : undefined;
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
  if (!areValidBounds((value ?? {}) as Record<string, unknown>)) return false;
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

function readObject(text: string): object | undefined {
  try {
    const value: unknown = parseLossless(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
