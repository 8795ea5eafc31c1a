/** `jobs cron list|next|history|run|pause|resume|add|remove|check`. @module */
import { CRON_FLAGS } from "../../job/option_names.ts";
import { closestWord } from "../../job/suggest.ts";
import type { Command } from "../commands_table.ts";
import { optionFlagsHelp } from "../shared/option_flags.ts";
import { splitCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs cron COMMAND [ARGUMENT …] [OPTION …]

Manages cron entries, each of which enqueues a job at given times.

  list               list entries with their next and last run
  next NAME          print an entry's next runs
  history NAME       print an entry's past runs and their outcomes
  run NAME           enqueue a job of an entry now
  pause NAME         pause an entry
  resume NAME        resume an entry, without its missed runs
  add NAME CLASS …   add an entry
  remove NAME        remove an added entry
  check [HANDLERS …] check the entries of the configuration

Entries of a configuration file are changed there; they can be paused and run by
hand. jobs help cron-syntax describes cron expressions.

Examples
  jobs cron list
  jobs cron add nightly Report --rule '30 3 * * 1-5' --timezone Europe/London
  jobs cron run nightly`;

/** The texts of `jobs cron COMMAND --help`. */
export const subcommands: Readonly<Record<string, string>> = {
  list: `
Usage: jobs cron list [OPTION …]

Lists the cron entries of the store by name, with their next and last run, and
those of the configuration that no worker has loaded yet.

      --prefix TEXT      only those whose name begins with it
      --tag TAG          only those with this tag
      --sort name|next   next: the next run first
  -n, --limit N|all      show this many (100)
      --cursor CURSOR    continue after a page: its last line has the cursor

Examples
  jobs cron list
  jobs cron list --prefix report- -n 20
  jobs cron list --sort next --json`,
  next: `
Usage: jobs cron next NAME [-n 5]

Prints the next runs of an entry, in its time zone and in UTC.

  -n, --limit N          print this many (5)

Examples
  jobs cron next nightly
  jobs cron next nightly -n 20`,
  history: `
Usage: jobs cron history NAME [-n 20]

Prints the past runs of an entry, latest first, and how their jobs ended: when
their result is no longer kept, that is empty. jobs show JID prints the output
of a failed program. The store keeps 100 runs.

  -n, --limit N          print this many (20)

Examples
  jobs cron history nightly
  jobs cron history nightly -n 100 --json`,
  run: `
Usage: jobs cron run NAME

Enqueues a job of an entry now, in addition to its scheduled runs, and prints
its jid.

Examples
  jobs cron run nightly`,
  pause: `
Usage: jobs cron pause NAME
       jobs cron pause --prefix TEXT|--tag TAG

Pauses an entry, or those with a prefix or a tag: they enqueue nothing until
jobs cron resume.

      --prefix TEXT          all whose name begins with it
      --tag TAG              all with this tag

Examples
  jobs cron pause nightly
  jobs cron pause --prefix acme:`,
  resume: `
Usage: jobs cron resume NAME
       jobs cron resume --prefix TEXT|--tag TAG

Resumes paused entries. Runs missed during the pause aren't caught up.

      --prefix TEXT          all whose name begins with it
      --tag TAG              all with this tag

Examples
  jobs cron resume nightly
  jobs cron resume --tag reports`,
  add: `
Usage: jobs cron add NAME CLASS [ARG …] --rule RULE|--every TIME [OPTION …]
       jobs cron add --entry JSON [--replace]
       jobs cron add --bulk FILE [--replace]

Adds an entry to the store. Running workers use it at once. RULE has five fields
(minute, hour, day of month, month, day of week), or six with seconds first, or
is @hourly, @daily, @weekly, @monthly or @yearly.

      --rule RULE        a cron expression
      --every TIME       an interval: 30s, 10m, 1h
      --timezone ZONE    of the expression, for example Europe/London (UTC)
      --start TIME       no run before: 2026-01-01T06:00:00Z
      --end TIME         no run after
      --count N          this many runs from --start, instead of --end
      --spread TIME      shifts the runs by a time up to this, which follows from
                         NAME: entries with one RULE aren't due at once
      --overlap POLICY   allow, skip, queue-one or replace, if the job of the
                         run before hasn't finished
      --catch-up POLICY  none, last or all missed runs
      --catch-up-window TIME
                         catch up runs missed within this time
      --memo TEXT        a description
      --entry JSON       the whole entry, with any field
      --bulk FILE        a whole entry as JSON on each line; - for stdin
      --replace          replace an entry of that name

Options of its jobs
${optionFlagsHelp(CRON_FLAGS)}

Examples
  jobs cron add nightly Report --rule '30 3 * * 1-5'
  jobs cron add poll CheckMail --every 1m --overlap skip --timeout 30s`,
  remove: `
Usage: jobs cron remove NAME
       jobs cron remove --prefix TEXT|--tag TAG

Removes entries that were added with jobs cron add. Their jobs stay.

      --prefix TEXT          all whose name begins with it
      --tag TAG              all with this tag
  -y, --yes                  don't ask; required for many without a terminal

Examples
  jobs cron remove nightly
  jobs cron remove --prefix acme: --yes`,
  check: `
Usage: jobs cron check [HANDLERS …]

Checks the cron entries of the configuration, and whether the handlers have
their classes. Exit 1 if an entry is invalid.

Examples
  jobs cron check
  jobs cron check handlers.js -e production`,
};

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
export const run: Command["run"] = async (argv) => {
  const { name, rest } = splitCommand(argv);
  const names = Object.keys(SUBCOMMANDS);
  if (name === undefined) throw new UsageError(`Missing argument: COMMAND. Usage: jobs cron ${names.join("|")}`);
  if (Object.hasOwn(SUBCOMMANDS, name)) return await (await SUBCOMMANDS[name]!())(rest);
  const meant = name === "ls" ? "list" : name === "rm" ? "remove" : closestWord(name, names);
  throw new UsageError(
    `Unknown command "cron ${name}"; ${meant ? `did you mean jobs cron ${meant}?` : "see jobs cron --help"}`,
  );
};
