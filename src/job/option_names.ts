/**
 * The options of a job by name: rows, names per place, flags of `jobs push`, and misspelled names.
 *
 * @module
 */
import { closestWord } from "./suggest.ts";
import { JOB_OPTIONS, type JobOption, type OptionPlace } from "./options.ts";

const ROWS = new Map<string, JobOption>(Object.entries(JOB_OPTIONS as Readonly<Record<string, JobOption>>));

/** Returns the row of an option; undefined if the option doesn't exist. */
export function jobOption(name: string): JobOption | undefined {
  return ROWS.get(name);
}

/** Returns the names of the options that may be set in a place, in the order of the table. */
export function optionNames(place?: OptionPlace): string[] {
  return [...ROWS].filter(([, { on }]) => place === undefined || on.includes(place)).map(([name]) => name);
}

/** Flags that set options, by their names without dashes. */
export type OptionFlags = ReadonlyMap<string, { readonly name: string; readonly option: JobOption }>;

/** Returns a flag for each option of a place that text can set: `unique_for` is `--unique-for`. */
function flagsOn(place: OptionPlace): OptionFlags {
  return new Map(
    [...ROWS].filter(([, { kind, on }]) => on.includes(place) && kind.placeholder)
      .map(([name, option]) => [name.replaceAll("_", "-"), { name, option }]),
  );
}

/** The flags of `jobs push`. */
export const PUSH_FLAGS: OptionFlags = flagsOn("push");

/** The flags of `jobs cron add`. */
export const CRON_FLAGS: OptionFlags = flagsOn("cron");

/** Names of other job systems whose spelling isn't close to the name here. */
const FOREIGN_NAMES: Readonly<Record<string, string>> = {
  retries: "retry",
  attempts: "retry",
  maxattempts: "retry",
  maxretries: "retry",
  delay: "in",
  jobid: "jid",
};

/** Returns the option that a misspelled name probably means; undefined if the name is an option, or close to none. */
export function meantOption(name: string, place?: OptionPlace): string | undefined {
  return ROWS.has(name) ? undefined : meantName(name, optionNames(place));
}

/** Returns the known name that another one probably means: in another case, of another job system, or misspelled. */
export function meantName(name: string, known: readonly string[]): string | undefined {
  const plain = plainName(name);
  const same = known.find((one) => plainName(one) === plain);
  const other = FOREIGN_NAMES[plain];
  // Any short name is close to a name of two letters.
  return same ?? (other && known.includes(other) ? other : closestWord(name, known.filter((one) => one.length > 3)));
}

function plainName(name: string): string {
  return name.replaceAll(/[_-]/g, "").toLowerCase();
}

/** Returns the field of a push that a misspelled name probably means; undefined if none is close. */
export function meantField(name: string, fields: readonly string[]): string | undefined {
  return meantOption(name, "push") ?? closestWord(name, fields.filter((one) => one.length > 3));
}
