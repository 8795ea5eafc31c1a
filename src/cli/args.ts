/**
 * A command's arguments, strictly: an unknown flag, a flag without its value and a superfluous argument are errors that
 * say what to do. On top of `@std/cli`.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { levenshteinDistance } from "@std/text/levenshtein-distance";

/** The command line is wrong. Its message is one line; the exit code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** One flag: what it takes, and its short form. */
export interface Flag {
  /** `switch` takes nothing, `text` a value, `list` a value and may be repeated. */
  readonly takes: "switch" | "text" | "list";
  /** One letter. */
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
  const named = (takes: Flag["takes"]) => Object.keys(flags).filter((name) => flags[name]!.takes === takes);
  const parsed = parseArgs([...argv], {
    string: [...named("text"), ...named("list"), "_"],
    boolean: named("switch"),
    collect: named("list"),
    alias: Object.fromEntries(
      Object.entries(flags).flatMap(([name, flag]) => flag.short ? [[name, flag.short]] : []),
    ),
    unknown: (arg: string, key?: string) => {
      if (key === undefined) return true;
      const meant = nearest(key, Object.keys(flags));
      throw new UsageError(
        `Unknown option "${arg}" of jobs ${command}` +
          (meant ? `; did you mean --${meant}?` : `; see jobs ${command} --help`) +
          ` (an argument that begins with a dash stands after --)`,
      );
    },
  });
  for (const name of [...named("text"), ...named("list")]) {
    const values = [parsed[name]].flat() as unknown[];
    if (values.includes("")) {
      throw new UsageError(`Option --${name} of jobs ${command} wants a value; see jobs ${command} --help`);
    }
    if (flags[name]!.takes === "text" && values.length > 1) {
      throw new UsageError(`Option --${name} of jobs ${command} is given ${values.length} times; once is wanted`);
    }
  }
  return {
    flags: Object.fromEntries(Object.keys(flags).map((name) => [name, parsed[name]])) as Parsed<Flags>["flags"],
    args: parsed._.map(String),
  };
}

/** What `given` was probably meant to be: the nearest of the known words, if any is near. */
export function nearest(given: string, known: readonly string[]): string | undefined {
  const ranked = known.map((word) => ({ word, distance: levenshteinDistance(given, word) }));
  const best = ranked.sort((a, b) => a.distance - b.distance)[0];
  const beginning = known.find((word) => given.length > 1 && word.startsWith(given));
  return beginning ?? (best && best.distance <= Math.max(1, Math.floor(best.word.length / 3)) ? best.word : undefined);
}
