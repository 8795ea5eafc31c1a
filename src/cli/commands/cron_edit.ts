/** `jobs cron run|pause|resume|add|remove`. @module */
import type { Crontab } from "../../client/crontab.ts";
import type { CronEntryInput } from "../../cron/entry.ts";
import { parseLossless } from "../../job/json.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { recordAudit } from "../shared/audit.ts";
import { oneName, withCrontab } from "../shared/cron_store.ts";
import { print, printJson } from "../terminal/output.ts";

/** Enqueues a job of an entry now. */
export async function runNow(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("cron run", argv, COMMON_FLAGS);
  const name = oneName("run", args);
  const jid = await withCrontab(flags, async (crontab, store) => {
    const jid = await crontab.run(name);
    await recordAudit(store, { action: "cron run", target: name, details: `job ${jid}` });
    return jid;
  });
  if (flags.json) printJson({ jid });
  else print(jid);
  return 0;
}

/** Pauses an entry. */
export function pause(argv: readonly string[]): Promise<number> {
  return change("pause", "paused", argv, (crontab, name) => crontab.pause(name));
}

/** Lets an entry go on. */
export function resume(argv: readonly string[]): Promise<number> {
  return change("resume", "resumed", argv, (crontab, name) => crontab.resume(name));
}

/** Removes an entry. */
export function remove(argv: readonly string[]): Promise<number> {
  return change("remove", "removed", argv, (crontab, name) => crontab.remove(name));
}

async function change(
  command: string,
  done: string,
  argv: readonly string[],
  make: (crontab: Crontab, name: string) => Promise<void>,
): Promise<number> {
  const { flags, args } = parseCommand(`cron ${command}`, argv, COMMON_FLAGS);
  const name = oneName(command, args);
  await withCrontab(flags, async (crontab, store) => {
    await make(crontab, name);
    await recordAudit(store, { action: `cron ${command}`, target: name });
  });
  if (flags.json) printJson({ [done]: name });
  else print(`"${name}" ${done}`);
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
    queue: { takes: "text", short: "q" },
    overlap: { takes: "text" },
    "catch-up": { takes: "text" },
    "catch-up-window": { takes: "text" },
    memo: { takes: "text" },
    replace: { takes: "switch" },
  });
  const [name, className, ...rest] = args;
  const said = {
    rule: flags.rule,
    every: flags.every,
    timezone: flags.timezone,
    queue: flags.queue,
    overlap: flags.overlap,
    catchUp: flags["catch-up"],
    catchUpWindow: flags["catch-up-window"],
    memo: flags.memo,
  };
  const given = Object.entries(said).filter(([, value]) => value !== undefined);
  if (flags.entry !== undefined && (name !== undefined || given.length > 0)) {
    throw new UsageError("With --entry, everything stands in the JSON");
  }
  if (flags.entry === undefined && className === undefined) {
    throw new UsageError("NAME and CLASS are wanted: jobs cron add NAME CLASS [ARG …] --rule RULE|--every DURATION");
  }
  const input = flags.entry === undefined
    ? {
      name,
      class: className,
      ...(rest.length > 0 && { args: rest.map(parseArgument) }),
      ...Object.fromEntries(given),
    }
    : parseEntry(flags.entry);
  // Whatever is wrong with it is said by the check.
  const added = String((input as { name?: unknown } | null)?.name);
  await withCrontab(flags, async (crontab, store) => {
    await crontab.add(input as unknown as CronEntryInput, { replace: flags.replace });
    await recordAudit(store, { action: "cron add", target: added });
  }, { make: "always" });
  if (flags.json) printJson({ added });
  else print(`"${added}" added`);
  return 0;
}

function parseEntry(text: string): unknown {
  try {
    return parseLossless(text);
  } catch (error) {
    throw new UsageError(`--entry is "${text}"; wanted: an entry as JSON (${(error as Error).message})`);
  }
}

/** JSON where it is JSON, else text. */
function parseArgument(text: string): unknown {
  try {
    return parseLossless(text);
  } catch {
    return text;
  }
}
