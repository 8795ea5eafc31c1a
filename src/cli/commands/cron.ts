/** `jobs cron list|next|history|run|pause|resume|add|remove|check`. @module */
import { closestWord } from "../../text/suggest.ts";
import type { Command } from "../cli.ts";
import { UsageError } from "../terminal/args.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs cron list                          what is enqueued when, and what became of it last
       jobs cron next NAME [-n 5]              its next times, in its zone and in UTC
       jobs cron history NAME [-n 20]          what became of its occurrences, latest first
       jobs cron run NAME                      enqueue a job of it now, once; prints its jid
       jobs cron pause NAME | resume NAME      stop it; let it go on, without catching up
       jobs cron add NAME CLASS [ARG …] --rule RULE|--every DURATION [--timezone ZONE] [-q QUEUE]
                     [--overlap allow|skip|queue-one|replace] [--catch-up none|last|all] [--catch-up-window DURATION]
                     [--memo TEXT] [--replace]
       jobs cron add --entry JSON [--replace]  the same, with any field
       jobs cron remove NAME                   remove one that was added
       jobs cron check [HANDLERS …]            check the crontab of the configuration

RULE has five fields (minute, hour, day of month, month, day of week), six with seconds first, or is @daily, @hourly, …
Entries of a configuration are changed there; they can be paused, and run by hand.`;

type Subcommand = (argv: readonly string[]) => Promise<number>;

const SUBCOMMANDS: Readonly<Record<string, () => Promise<Subcommand>>> = {
  list: async () => (await import("./cron_list.ts")).list,
  next: async () => (await import("./cron_list.ts")).next,
  history: async () => (await import("./cron_list.ts")).history,
  run: async () => (await import("./cron_edit.ts")).runNow,
  pause: async () => (await import("./cron_edit.ts")).pause,
  resume: async () => (await import("./cron_edit.ts")).resume,
  add: async () => (await import("./cron_edit.ts")).add,
  remove: async () => (await import("./cron_edit.ts")).remove,
  check: async () => (await import("./cron_check.ts")).check,
};

/** Runs the subcommand. */
export const run: Command["run"] = async ([name, ...rest]) => {
  if (name === undefined || name.startsWith("-")) {
    throw new UsageError(`Nothing to do; wanted: jobs cron ${Object.keys(SUBCOMMANDS).join("|")}`);
  }
  const known = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  if (known) return await (await known())(rest);
  const meant = closestWord(name, Object.keys(SUBCOMMANDS));
  throw new UsageError(
    `Unknown command "cron ${name}"${meant ? `; did you mean jobs cron ${meant}?` : "; see jobs cron --help"}`,
  );
};
