/**
 * A command's arguments, strictly: an unknown flag, a flag without its value and a superfluous argument are errors that
 * say what to do. On top of `@std/cli`.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { closestWord } from "../../text/suggest.ts";

/** The command line is wrong. Its message is one line; the exit code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** One flag: what it takes, and its short form. */
export interface Flag {
  /** `switch` takes nothing, `text` a value, `list` a value and may be repeated. */
  readonly takes: "switch" | "text" | "list";
  /** One letter: `-q low`, `-qlow`, `-rn 5`. */
  readonly short?: string;
}

/** The flags that every command takes. */
export const COMMON_FLAGS = {
  store: { takes: "text" },
  config: { takes: "text", short: "C" },
  environment: { takes: "text", short: "e" },
  json: { takes: "switch" },
  help: { takes: "switch", short: "h" },
} as const satisfies Record<string, Flag>;

type Value<F extends Flag> = F["takes"] extends "switch" ? boolean
  : F["takes"] extends "list" ? readonly string[]
  : string | undefined;

/** What was given. */
export interface Parsed<Flags extends Record<string, Flag>> {
  readonly flags: { readonly [Name in keyof Flags]: Value<Flags[Name]> };
  /** The arguments that are no flags, as text. */
  readonly args: readonly string[];
}

/**
 * Reads the arguments of a command.
 *
 * @param command its name, for messages
 * @throws {UsageError}
 */
export function parseCommand<const Flags extends Record<string, Flag>>(
  command: string,
  argv: readonly string[],
  flags: Flags,
): Parsed<Flags> {
  const names = Object.keys(flags);
  const parsed = parseArgs(spellOut(argv, flags), {
    string: [...names, "_"],
    collect: names,
    unknown: (arg: string, key?: string) => {
      if (key === undefined) return true;
      const meant = closestWord(key, names);
      throw new UsageError(
        `Unknown option "${arg}" of jobs ${command}` +
          (meant ? `; did you mean --${meant}?` : `; see jobs ${command} --help`) +
          ` (an argument that begins with a dash stands after --)`,
      );
    },
  });
  const values = names.map((name) => [name, readFlag(name, flags[name]!, parsed[name] as string[], command)]);
  return { flags: Object.fromEntries(values) as Parsed<Flags>["flags"], args: parsed._.map(String) };
}

function readFlag(name: string, { takes }: Flag, given: readonly string[], command: string): unknown {
  const option = `Option --${name} of jobs ${command}`;
  if (takes === "switch") {
    const value = given.find((value) => value !== ON);
    if (value !== undefined) throw new UsageError(`${option} is given "${value}"; wanted: no value`);
    return given.length > 0;
  }
  if (given.includes("")) {
    throw new UsageError(`${option} wants a value; one that begins with a dash is given as --${name}=VALUE`);
  }
  if (takes === "list") return given;
  if (given.length > 1) throw new UsageError(`${option} is given ${given.length} times; wanted: once`);
  return given[0];
}

/** A switch that is written out. */
const ON = "on";

/**
 * Writes each known flag out as `--name=value`, the one form that `parseArgs` cannot mistake: left to itself it takes
 * an argument `true` for the value of the switch before it, and knows neither `-` (stdin) as a value nor `-qlow`.
 */
function spellOut(argv: readonly string[], flags: Readonly<Record<string, Flag>>): string[] {
  const end = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const long = argv.slice(0, end).flatMap((arg) => longForms(arg, flags));
  const written: string[] = [];
  for (let i = 0; i < long.length; i++) {
    const arg = long[i]!;
    const isFlag = arg.startsWith("--") && Object.hasOwn(flags, arg.slice(2));
    const flag = isFlag ? flags[arg.slice(2)] : undefined;
    if (flag === undefined) written.push(arg);
    else if (flag.takes === "switch") written.push(`${arg}=${ON}`);
    else if (/^-./.test(long[i + 1] ?? "")) written.push(`${arg}=`);
    else written.push(`${arg}=${long[++i] ?? ""}`);
  }
  return [...written, ...argv.slice(end)];
}

/** `-rn5` → `--reverse`, `--limit=5`; anything else, and what has a letter that nobody knows, as it is. */
function longForms(arg: string, flags: Readonly<Record<string, Flag>>): string[] {
  if (!/^-[^-]/.test(arg)) return [arg];
  const long: string[] = [];
  for (let i = 1; i < arg.length; i++) {
    const [name, flag] = Object.entries(flags).find(([, flag]) => flag.short === arg[i]) ?? [];
    if (flag === undefined) return [arg];
    const rest = arg.slice(i + 1);
    if (flag.takes !== "switch" && rest !== "") return [...long, `--${name}=${rest.replace(/^=/, "")}`];
    long.push(`--${name}`);
  }
  return long;
}

/**
 * How many a list shows: `--limit`, by default 25.
 *
 * @throws {UsageError}
 */
export function limitOf(text: string | undefined): number {
  const limit = Number(text ?? 25);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 10_000) return limit;
  throw new UsageError(`--limit is "${text}"; wanted: a whole number from 1 to 10000`);
}
