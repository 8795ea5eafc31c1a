/** `jobs cron run|pause|resume|add|remove`. @module */
import { type Action, type ClientTools, Refused } from "../../operator/actions/action.ts";
import { addCron, InvalidCronEntry, pauseCron, removeCron, resumeCron, runCron } from "../../operator/actions/cron.ts";
import { CrontabError } from "../../cron/crontab.ts";
import { parseLossless } from "../../job/json.ts";
import { CRON_FLAGS } from "../../job/option_names.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { CommandFailed, UsageError } from "../terminal/errors.ts";
import { optionFlags, optionsIn } from "../shared/option_flags.ts";
import { actHere } from "../shared/act.ts";
import { withCrontab } from "../shared/cron_store.ts";
import { print, printJson } from "../terminal/output.ts";

/** Enqueues a job of an entry now. */
export function runNow(argv: readonly string[]): Promise<number> {
  return change("run", runCron, argv, (_, { jid }) => [{ jid }, jid]);
}

/** Pauses an entry. */
export function pause(argv: readonly string[]): Promise<number> {
  return change("pause", pauseCron, argv, (name) => [{ paused: name }, `Paused cron entry "${name}"`]);
}

/** Resumes an entry. */
export function resume(argv: readonly string[]): Promise<number> {
  return change("resume", resumeCron, argv, (name) => [{ resumed: name }, `Resumed cron entry "${name}"`]);
}

/** Removes an entry. */
export function remove(argv: readonly string[]): Promise<number> {
  return change("remove", removeCron, argv, (name) => [{ removed: name }, `Removed cron entry "${name}"`]);
}

async function change<Out>(
  command: string,
  action: Action<{ readonly name: string }, Out, ClientTools>,
  argv: readonly string[],
  shown: (name: string, out: Out) => readonly [json: unknown, text: string],
): Promise<number> {
  const { flags, args } = parseCommand(`cron ${command}`, argv, COMMON_FLAGS, "NAME");
  const name = args[0]!;
  const out = await withCrontab(flags, (parts, store) => actHere(store, action, { name }, { parts }));
  const [json, text] = shown(name, out);
  if (flags.json) printJson(json);
  else print(text);
  return 0;
}

/** Adds an entry. */
export async function add(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("cron add", argv, {
    ...COMMON_FLAGS,
    entry: { takes: "text" },
    rule: { takes: "text" },
    every: { takes: "text" },
    timezone: { takes: "text" },
    start: { takes: "text" },
    end: { takes: "text" },
    count: { takes: "text" },
    spread: { takes: "text" },
    ...optionFlags(CRON_FLAGS),
    overlap: { takes: "text" },
    "catch-up": { takes: "text" },
    "catch-up-window": { takes: "text" },
    memo: { takes: "text" },
    replace: { takes: "switch" },
  }, "[NAME] [CLASS] [ARG …]");
  const [name, className, ...rest] = args;
  const fields = {
    rule: flags.rule,
    every: flags.every,
    timezone: flags.timezone,
    start: flags.start,
    end: flags.end,
    count: flags.count === undefined ? undefined : parseArgument(flags.count),
    spread: flags.spread,
    ...optionsIn(CRON_FLAGS, flags),
    overlap: flags.overlap,
    catchUp: flags["catch-up"],
    catchUpWindow: flags["catch-up-window"],
    memo: flags.memo,
  };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  if (flags.entry !== undefined && (name !== undefined || given.length > 0)) {
    throw new UsageError("--entry contains the whole entry: expected no other arguments and options");
  }
  if (flags.entry === undefined && className === undefined) {
    throw new UsageError(
      `Missing argument: ${
        name === undefined ? "NAME" : "CLASS"
      }. Usage: jobs cron add NAME CLASS [ARG …] --rule RULE|--every TIME`,
    );
  }
  const input = flags.entry === undefined
    ? {
      name,
      class: className,
      ...(rest.length > 0 && { args: rest.map(parseArgument) }),
      ...Object.fromEntries(given),
    }
    : parseEntry(flags.entry);
  await withCrontab(flags, async (parts, store) => {
    await actHere(store, addCron, { ...input as object, replace: flags.replace }, { parts }).catch((error) => {
      if (error instanceof InvalidCronEntry) throw new CrontabError(error.message);
      if (!(error instanceof Refused) || error.field !== "name") throw error;
      throw new CommandFailed(
        "exists",
        error.message.replace("replace it, or use another name", "--replace replaces it"),
      );
    });
  }, { make: "always" });
  const added = String((input as { name?: unknown }).name);
  if (flags.json) printJson({ added });
  else print(`Added cron entry "${added}"`);
  return 0;
}

function parseEntry(text: string): unknown {
  try {
    return parseLossless(text);
  } catch (error) {
    throw new UsageError(`Invalid --entry "${text}": expected an entry as JSON (${(error as Error).message})`);
  }
}

/** Parses JSON; other texts stay texts. */
function parseArgument(text: string): unknown {
  try {
    return parseLossless(text);
  } catch {
    return text;
  }
}
