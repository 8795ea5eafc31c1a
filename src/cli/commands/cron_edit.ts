/** `jobs cron run|pause|resume|add|remove`. @module */
import { type Action, type AnyAction, type ClientTools, Refused } from "../../operator/actions/action.ts";
import { addCron, InvalidCronEntry, pauseCron, removeCron, resumeCron, runCron } from "../../operator/actions/cron.ts";
import { filterText } from "../../cron/describe.ts";
import { pauseCrons, removeCrons, resumeCrons } from "../../operator/actions/cron_bulk.ts";
import type { CronFilter } from "../../client/crontab_edits.ts";
import type { CronEntryInput } from "../../cron/entry.ts";
import type { AuditEvent } from "../../store/admin/audit.ts";
import type { Store } from "../../store/admin/store.ts";
import type { ConfigFlags } from "../shared/store.ts";
import { CrontabError } from "../../cron/crontab.ts";
import { parseLossless } from "../../job/json.ts";
import { CRON_FLAGS } from "../../job/option_names.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { confirm, YES } from "../terminal/confirm.ts";
import { CommandFailed, UsageError } from "../terminal/errors.ts";
import { optionFlags, optionsIn } from "../shared/option_flags.ts";
import { actHere, authorBy, record } from "../shared/act.ts";
import { withCrontab } from "../shared/cron_store.ts";
import { readLines } from "./push_lines.ts";
import { print, printError, printJson } from "../terminal/output.ts";

/** Invalid entries of a file that are printed. */
const MAX_PROBLEMS = 20;

interface Flags {
  readonly json?: boolean;
}

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
  command: keyof typeof SELECTS,
  action: Action<{ readonly name: string }, Out, ClientTools>,
  argv: readonly string[],
  shown: (name: string, out: Out) => readonly [json: unknown, text: string],
): Promise<number> {
  const { flags, args: [name] } = parseCommand(`cron ${command}`, argv, {
    ...COMMON_FLAGS,
    ...SELECTS[command],
  }, "[NAME]");
  const { prefix, tag, yes = false } = flags as { prefix?: string; tag?: string; yes?: boolean };
  if (prefix !== undefined || tag !== undefined) {
    if (name !== undefined) throw new UsageError("Expected either NAME or --prefix and --tag");
    return await changeMany(command as keyof typeof MANY, { ...flags, yes }, { prefix, tag });
  }
  if (name === undefined) throw new UsageError(`Missing argument: NAME. Usage: jobs cron ${command} NAME`);
  const out = await withCrontab(flags, (parts, store) => actHere(store, action, { name }, { parts }));
  const [json, text] = shown(name, out);
  if (flags.json) printJson(json);
  else print(text);
  return 0;
}

const SELECTION = { prefix: { takes: "text" }, tag: { takes: "text" } } as const;
/** The options that select entries, by command. */
const SELECTS = { run: {}, pause: SELECTION, resume: SELECTION, remove: { ...SELECTION, ...YES } } as const;
const MANY = {
  pause: { action: pauseCrons, past: "Paused" },
  resume: { action: resumeCrons, past: "Resumed" },
  remove: { action: removeCrons, past: "Removed" },
} as const;

/** Changes the entries with a prefix or a tag. */
async function changeMany(
  command: keyof typeof MANY,
  flags: ConfigFlags & Flags & { readonly yes: boolean },
  filter: CronFilter,
): Promise<number> {
  const { action, past } = MANY[command];
  if (command === "remove") confirm("Remove", `all cron entries with ${filterText(filter)}`, flags);
  const { count } = await withCrontab(
    flags,
    (parts, store) =>
      actHere(store, action as AnyAction, { ...filter, ...(command === "remove" && { confirm: true }) }, { parts }),
  );
  if (flags.json) printJson({ count });
  else print(`${past} ${entriesText(count)}`);
  return 0;
}

/** Adds the entries of a file. */
async function addFile(file: string, flags: ConfigFlags & Flags & { readonly replace: boolean }): Promise<number> {
  const inputs: CronEntryInput[] = [];
  let line = 0;
  for await (const { texts } of readLines(file, new AbortController().signal)) {
    for (const text of texts) {
      line++;
      if (text?.trim() === "") continue;
      try {
        inputs.push(parseLossless(text!) as CronEntryInput);
      } catch {
        throw new UsageError(`Invalid --bulk "${file}", line ${line}: expected an entry as JSON on each line`);
      }
    }
  }
  const count = await withCrontab(flags, async ({ crontab }, store) => {
    const count = await crontab.addMany(inputs, { replace: flags.replace }).catch((error) => {
      if (!(error instanceof CrontabError)) throw error;
      const short = error.message.replace("replace it, or use another name", "--replace replaces it");
      if (short !== error.message) throw new CommandFailed("exists", short);
      const lines = error.message.split("\n");
      if (lines.length <= MAX_PROBLEMS) throw error;
      throw new CrontabError(`${lines.slice(0, MAX_PROBLEMS).join("\n")}\n… and ${lines.length - MAX_PROBLEMS} more`);
    });
    if (count > 0) await recordHere(store, { action: "cron add", target: file, count });
    return count;
  }, { make: "always" });
  if (flags.json) printJson({ count });
  else print(`Added ${entriesText(count)}`);
  return 0;
}

function recordHere(store: Store, deed: Pick<AuditEvent, "action" | "target" | "count">): Promise<void> {
  return record(store, { ...authorBy("command line"), ...deed }, (why) => printError(`jobs: ${why}`));
}

function entriesText(count: number): string {
  return count === 1 ? "1 cron entry" : `${count} cron entries`;
}

/** Adds an entry. */
export async function add(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("cron add", argv, {
    ...COMMON_FLAGS,
    entry: { takes: "text" },
    bulk: { takes: "text" },
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
  if (flags.bulk !== undefined) {
    if (flags.entry !== undefined || name !== undefined || given.length > 0) {
      throw new UsageError("--bulk reads whole entries: expected no other arguments and options than --replace");
    }
    return await addFile(flags.bulk, { ...flags, replace: flags.replace ?? false });
  }
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
