/**
 * The types of `deno-std/cli/parse_args.js`, which ships none. Simpler than the originals, which compute the result's
 * type from the options: a flag is `unknown` until it is looked at.
 *
 * @module
 */

/** How to read the arguments. */
export interface ParseOptions {
  /** Collect what comes after `--` in `result["--"]` rather than in `_`; default false. */
  "--"?: boolean;
  /** Other names of a flag: each is set along with it. */
  alias?: Readonly<Record<string, string | readonly string[]>>;
  /** Flags that take no value; `true` for all that are given without `=`. */
  boolean?: boolean | string | readonly string[];
  /** Values of flags that are not given. */
  default?: Readonly<Record<string, unknown>>;
  /** Put everything from the first positional argument on in `_`; default false. */
  stopEarly?: boolean;
  /** Flags whose value stays text. `"_"`: positional arguments too; without it `5` and `1e3` arrive as numbers. */
  string?: string | readonly string[];
  /** Flags that may be given several times: an array. When not given: empty if it is in `string` too, else absent. */
  collect?: string | readonly string[];
  /** Flags that `--no-NAME` sets to false. */
  negatable?: string | readonly string[];
  /** Called for what no option names. Returning false leaves it out of the result. */
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
}

/** The arguments as read. */
export interface Args {
  /** Positional arguments: text, or numbers where they look like one and `string` does not have `"_"`. */
  _: (string | number)[];
  /** With the option of that name: what came after `--`. */
  "--"?: string[];
  /** A dotted name (`--a.b`) is a nested object. */
  [flag: string]: unknown;
}

/** Reads command-line arguments. */
export declare function parseArgs(args: readonly string[], options?: ParseOptions): Args;
