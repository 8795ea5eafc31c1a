/**
 * The flags of `jobs push` and `jobs cron add` that set job options: one for each option that text can set there, by the table
 * in `job/options.ts`.
 *
 * @module
 */
import { InvalidPayload } from "../../job/errors.ts";
import type { JobOption } from "../../job/options.ts";
import { type OptionFlags, PUSH_FLAGS } from "../../job/option_names.ts";
import { type JobRequest, prepare } from "../../job/payload.ts";
import { UsageError } from "../terminal/errors.ts";

/** Returns the flags as the parser takes them. */
export function optionFlags(
  flags: OptionFlags,
): Readonly<Record<string, { readonly takes: "text"; readonly short?: string }>> {
  return Object.fromEntries(
    [...flags.keys()].map((flag) => [flag, { takes: "text", ...(flag === "queue" && { short: "q" }) }]),
  );
}

/**
 * Returns the options of the pushed jobs.
 *
 * @param name the class; undefined if each line of a file has a class
 * @param flags texts by flag; flags that aren't job options are ignored
 * @throws {UsageError} if a value is invalid
 */
export function requestOf(name: string | undefined, flags: Readonly<Record<string, unknown>>): Partial<JobRequest> {
  return optionsIn(PUSH_FLAGS, flags, name === undefined ? {} : { class: name });
}

/**
 * Returns the options that are given.
 *
 * @param given texts by flag; flags that aren't job options are ignored
 * @param more further fields of the push, which are checked and returned, too
 * @throws {UsageError} if a value is invalid
 */
export function optionsIn(
  flags: OptionFlags,
  given: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const request: Record<string, unknown> = { ...more };
  for (const [flag, { name: option, option: { kind } }] of flags) {
    const text = given[flag];
    if (typeof text === "string") request[option] = (kind.fromText ?? String)(text);
  }
  try {
    prepare({ class: "A", ...request });
  } catch (error) {
    if (!(error instanceof InvalidPayload)) throw error;
    throw new UsageError(`Invalid ${flagOf(error.field)} ${error.value}: expected ${expectedHere(error.expected)}`);
  }
  return request;
}

/** Returns the lines of `--help` on these flags. */
export function optionFlagsHelp(flags: OptionFlags): string {
  return [...flags].map(([flag, { option }]) => {
    const short = flag === "queue" ? "  -q, " : "      ";
    const usage = `${short}--${flag} ${option.kind.placeholder}`;
    const start = usage.length > 24 ? `${usage}\n${" ".repeat(25)}` : usage.padEnd(25);
    return start + wrap(aboutOf(option));
  }).join("\n");
}

function aboutOf({ about, default: value }: JobOption): string {
  return `${about}${value.startsWith("`") ? ` (default ${value})` : ""}`.replaceAll("`", "");
}

/** Wraps a text, so that a line of help has at most 80 characters. */
function wrap(text: string): string {
  return text.replace(/(?=.{56})(.{1,55}) /g, `$1\n${" ".repeat(25)}`);
}

function flagOf(field: string): string {
  if (field === "class") return "CLASS";
  const [option, ...path] = field.split(".");
  return [`--${option!.replaceAll("_", "-")}`, ...path].join(" ");
}

/** Rewords an expectation for the shell, which has texts instead of objects and dates. */
function expectedHere(expected: string): string {
  return expected.replace(/^a Date, /, "").replace(/; or under \d+ seconds from now$/, "")
    .replaceAll(
      /"([a-z_]+)"/g,
      (quoted, name) => PUSH_FLAGS.has(name.replaceAll("_", "-")) ? `--${name.replaceAll("_", "-")}` : quoted,
    )
    .replace(/^an object such as .*/, "a backoff such as exponential,base=2s,max=1h,jitter=0.2");
}
