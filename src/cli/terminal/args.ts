/**
 * Strict parsing of a command's arguments, on top of `@std/cli`: an unknown option, a missing value and an unexpected argument
 * are errors that state the usage.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { closestWord } from "../../job/suggest.ts";
import { UsageError } from "./errors.ts";

export interface Flag {
  /** `switch` has no value, `text` has one, `list` has one and may be repeated. */
  readonly takes: "switch" | "text" | "list";
  /** Its one-letter form: `-q low`, `-qlow`, `-rn 5`. */
  readonly short?: string;
}

/** The options of every command. They may also precede the command. */
export const COMMON_FLAGS = {
  store: { takes: "text" },
  config: { takes: "text", short: "C" },
  environment: { takes: "text", short: "e" },
  json: { takes: "switch" },
  "no-color": { takes: "switch" },
  help: { takes: "switch", short: "h" },
} as const satisfies Record<string, Flag>;

type Value<F extends Flag> = F["takes"] extends "switch" ? boolean
  : F["takes"] extends "list" ? readonly string[]
  : string | undefined;

export interface Parsed<Flags extends Record<string, Flag>> {
  readonly flags: { readonly [Name in keyof Flags]: Value<Flags[Name]> };
  /** The positional arguments. */
  readonly args: readonly string[];
}

/**
 * Parses the arguments of a command.
 *
 * @param command its name, for messages: `cron list`
 * @param usage its positional arguments: `CLASS [ARG …]`. Names in brackets are optional, `…` repeats the one before. Options that a command requires may stand there, too: `--to URL`.
 * @throws {UsageError} for an unknown option, and for missing, invalid or unexpected arguments
 */
export function parseCommand<const Flags extends Record<string, Flag>>(
  command: string,
  argv: readonly string[],
  flags: Flags,
  usage: string,
): Parsed<Flags> {
  const names = Object.keys(flags);
  const parsed = parseArgs(spellOut(argv, flags), {
    string: [...names, "_"],
    collect: names,
    unknown: (arg: string, key?: string) => {
      if (key === undefined) return true;
      throw new UsageError(unknownOption(command, arg, key, names));
    },
  });
  const values = names.map((name) => [name, readFlag(name, flags[name]!, parsed[name] as string[])]);
  const args = parsed._.map(String);
  checkArguments(command, args, usage);
  return { flags: Object.fromEntries(values) as Parsed<Flags>["flags"], args };
}

function unknownOption(command: string, arg: string, key: string, names: readonly string[]): string {
  // `-1` and `-x y` may be arguments; `--jsn` isn't.
  if (/^-\d/.test(arg)) {
    return `Unknown option "${arg}". Put arguments that begin with a dash after --: jobs ${command} … -- ${arg}`;
  }
  const meant = closestWord(key, names);
  return `Unknown option "${arg}"; ${meant ? `did you mean --${meant}?` : `see jobs ${command} --help`}`;
}

function checkArguments(command: string, args: readonly string[], usage: string): void {
  const names = usage.replace(/--\S+ \S+/g, "").replace(/(?<=\S) …/g, "…").split(" ").filter(Boolean);
  const required = names.filter((name) => !name.startsWith("["));
  const shown = `Usage: jobs ${command}${usage === "" ? "" : ` ${usage}`}`;
  if (args.length < required.length) {
    throw new UsageError(`Missing argument: ${required[args.length]!.replace("…", "")}. ${shown}`);
  }
  if (!usage.includes("…") && args.length > names.length) {
    throw new UsageError(`Unexpected argument "${args[names.length]}". ${shown}`);
  }
}

function readFlag(name: string, { takes }: Flag, given: readonly string[]): unknown {
  if (takes === "switch") {
    const value = given.find((value) => value !== ON);
    if (value !== undefined) throw new UsageError(`Invalid --${name}="${value}": this option has no value`);
    return given.length > 0;
  }
  if (given.includes("")) {
    throw new UsageError(`Missing value of --${name}; write --${name}=VALUE if it begins with a dash`);
  }
  if (takes === "list") return given;
  if (given.length > 1) throw new UsageError(`Option --${name} given ${given.length} times: expected once`);
  return given[0];
}

/** The value of a given switch. */
const ON = "on";

/**
 * Writes each known option as `--name=value`, the only form that `parseArgs` reads without ambiguity: it takes an argument
 * `true` for the value of the switch before it, and rejects `-` (stdin) as a value and `-qlow`.
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
    // `parseArgs` takes one `no-` off: `--no-no-color=on` is its flag `no-color`.
    else if (flag.takes === "switch") written.push(`${arg.replace(/^--no-/, "--no-no-")}=${ON}`);
    else if (/^-./.test(long[i + 1] ?? "")) written.push(`${arg}=`);
    else written.push(`${arg}=${long[++i] ?? ""}`);
  }
  return [...written, ...argv.slice(end)];
}

/** Returns `--reverse`, `--limit=5` for `-rn5`; other arguments, and unknown letters, unchanged. */
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

/** Splits `[OPTION …] NAME [ARGUMENT …]`, where only common options may precede the name, and returns them after it. */
export function splitCommand(argv: readonly string[]): { name: string | undefined; rest: readonly string[] } {
  const before: string[] = [];
  let i = 0;
  for (; i < argv.length; i++) {
    const arg = argv[i]!;
    if (!arg.startsWith("-") || arg === "-" || arg === "--") break;
    const name = /^--([^=]+)/.exec(arg)?.[1];
    const [, flag] = Object.entries(COMMON_FLAGS).find(([long, one]) =>
      name === undefined ? "short" in one && one.short === arg[1] : long === name
    ) ?? [];
    if (flag === undefined) {
      break;
    }
    before.push(arg);
    const hasValue = arg.startsWith("--") ? arg.includes("=") : arg.length > 2;
    if (flag.takes === "text" && !hasValue && i + 1 < argv.length) {
      before.push(argv[++i]!);
    }
  }
  const name = argv[i];
  if (name !== undefined && name.startsWith("-")) return { name, rest: [...before, ...argv.slice(i + 1)] };
  return { name, rest: [...before, ...argv.slice(i + 1)] };
}

/** Returns whether an option is given before `--`. */
export function hasFlag(argv: readonly string[], ...forms: readonly string[]): boolean {
  return argv.slice(0, argv.includes("--") ? argv.indexOf("--") : argv.length).some((arg) => forms.includes(arg));
}

/**
 * Parses `--limit`: how many rows to show, 25 by default.
 *
 * @throws {UsageError}
 */
export function parseLimit(text: string | undefined): number {
  if (text === "all") return Infinity;
  const limit = Number(text ?? 25);
  if (Number.isSafeInteger(limit) && limit >= 1) return limit;
  throw new UsageError(`Invalid --limit "${text}": expected a whole number from 1, or all`);
}
