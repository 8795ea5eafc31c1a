/** `jobs cron run|pause|resume|add|remove`. @module */
import type { Crontab } from "../../client/crontab.ts";
import { CrontabError } from "../../cron/crontab.ts";
import type { CronEntryInput } from "../../cron/entry.ts";
import { describeSchedule } from "../../cron/schedule_spec.ts";
import { parseLossless } from "../../job/json.ts";
import { CRON_FLAGS } from "../../job/option_names.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { CommandFailed, NotFoundError, UsageError } from "../terminal/errors.ts";
import { optionFlags, optionsIn } from "../shared/option_flags.ts";
import { recordAudit } from "../shared/audit.ts";
import { report } from "../shared/report.ts";
import type { Store } from "../../store/admin/store.ts";
import { findEntry, withCrontab } from "../shared/cron_store.ts";
import { print, printJson } from "../terminal/output.ts";

/** Enqueues a job of an entry now. */
export async function runNow(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("cron run", argv, COMMON_FLAGS, "NAME");
  const name = args[0]!;
  await withCrontab(flags, async (crontab, store) => {
    const jid = await audited(store, { action: "cron run", target: name }, async () => {
      await findEntry(crontab, name);
      return await crontab.run(name);
    });
    await report(
      () => flags.json ? printJson({ jid }) : print(jid),
      () => recordAudit(store, { action: "cron run", target: name, details: `job ${jid}` }),
    );
  });
  return 0;
}

/** Pauses an entry. */
export function pause(argv: readonly string[]): Promise<number> {
  return change("pause", "Paused", argv, (crontab, name) => crontab.pause(name));
}

/** Resumes an entry. */
export function resume(argv: readonly string[]): Promise<number> {
  return change("resume", "Resumed", argv, (crontab, name) => crontab.resume(name));
}

/** Removes an entry. */
export function remove(argv: readonly string[]): Promise<number> {
  return change("remove", "Removed", argv, (crontab, name) => crontab.remove(name));
}

async function change(
  command: string,
  done: string,
  argv: readonly string[],
  make: (crontab: Crontab, name: string) => Promise<void>,
): Promise<number> {
  const { flags, args } = parseCommand(`cron ${command}`, argv, COMMON_FLAGS, "NAME");
  const name = args[0]!;
  await withCrontab(flags, async (crontab, store) => {
    await audited(store, { action: `cron ${command}`, target: name }, async () => {
      await findEntry(crontab, name);
      await make(crontab, name);
    });
    await report(
      () => flags.json ? printJson({ [done.toLowerCase()]: name }) : print(`${done} cron entry "${name}"`),
      () => recordAudit(store, { action: `cron ${command}`, target: name }),
    );
  });
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
  const added = String((input as { name?: unknown } | null)?.name);
  await withCrontab(flags, async (crontab, store) => {
    const deed = { action: "cron add", target: added };
    const words = await audited(store, deed, async () => {
      if (!flags.replace && (await crontab.get(added))?.isLoaded) {
        throw new CommandFailed("exists", `Cron entry "${added}" already exists; --replace replaces it`);
      }
      await crontab.add(input as unknown as CronEntryInput, { replace: flags.replace });
      const definition = (await crontab.get(added))?.definition;
      return definition && describeSchedule(definition.schedule);
    });
    await report(
      () => flags.json ? printJson({ added }) : print(`Added cron entry "${added}"`),
      () => recordAudit(store, { ...deed, ...(words !== undefined && { details: words }) }),
    );
  }, { make: "always" });
  return 0;
}

/** Performs an action; records it if it is refused, as the HTTP API does. */
async function audited<Result>(
  store: Store,
  deed: { readonly action: string; readonly target: string },
  act: () => Promise<Result>,
): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof CrontabError || error instanceof NotFoundError || error instanceof CommandFailed) {
      await recordAudit(store, { ...deed, outcome: `refused: ${error.message}` });
    }
    throw error;
  }
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
