/**
 * `jobs man`: the manual page, made from the commands' own help and the topics, so that it knows what they know.
 *
 * @module
 */
import { VERSION } from "../../version.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import type { Command } from "../cli.ts";
import { print } from "../terminal/output.ts";
import { TOPICS } from "../help/topics.ts";

const help = `
Usage: jobs man

Prints the manual page, in the form that man reads: jobs man | man -l -
To have it as man jobs: jobs man >/usr/local/share/man/man1/jobs.1`;

/** Commands: name → what it does, and how to load it. */
type Commands = Readonly<Record<string, readonly [about: string, load: () => Promise<Command>]>>;

/** Topics that are long tables of their own stay where they are. */
const LEFT_OUT: ReadonlySet<string> = new Set(["json", "settings"]);

/** The command, for a table of commands. */
export function manOf(commands: Commands): Command {
  return {
    help,
    async run(argv) {
      const { args } = parseCommand("man", argv, COMMON_FLAGS);
      if (args.length > 0) throw new UsageError(`Superfluous: "${args[0]}"; wanted: jobs man`);
      print(await manual(commands));
      return 0;
    },
  };
}

async function manual(commands: Commands): Promise<string> {
  const parts = [
    `.TH JOBS 1 "" "jobs ${VERSION}" "jobs"`,
    ".nh",
    ".SH NAME",
    "jobs \\- background jobs in one executable",
    ".SH SYNOPSIS",
    ".B jobs",
    "COMMAND [ARGUMENT ...] [\\-\\-store URL] [\\-\\-json] [\\-\\-help]",
    ".SH DESCRIPTION",
    "It enqueues, schedules and processes background jobs.",
    "It starts on a file and needs no server;",
    "when one machine is not enough it moves to Redis, in Sidekiq's own format.",
    "Every command takes",
    ".B \\-\\-store",
    "URL (see STORES),",
    ".B \\-\\-json",
    "for output that programs read,",
    ".B \\-\\-config",
    "FILE and",
    ".B \\-\\-environment",
    "NAME (see CONFIGURATION), and",
    ".BR \\-\\-help .",
    "Most shells have a builtin of this name: write the path, or",
    '.BR "env jobs" .',
    ".SH COMMANDS",
  ];
  for (const [name, [about, load]] of Object.entries(commands)) {
    parts.push(`.SS jobs ${name} \\(em ${escaped(about)}`, ...verbatim((await load()).help));
  }
  for (const [name, [, load]] of Object.entries(TOPICS)) {
    if (LEFT_OUT.has(name)) continue;
    // Their first line is their title.
    const [title, ...lines] = (await load()).trim().split("\n");
    parts.push(`.SH ${title!.toUpperCase()}`, ...verbatim(lines.join("\n")));
  }
  parts.push(
    ".SH SEE ALSO",
    "jobs help TOPIC tells more:",
    `${Object.keys(TOPICS).map(escaped).join(",\n")}.`,
  );
  return parts.join("\n");
}

/** As it stands, blanks and all. */
function verbatim(text: string): string[] {
  return [".nf", ...text.trim().split("\n").map((line) => line === "" ? ".sp" : escaped(line)), ".fi"];
}

/** What roff would read as its own is text. */
function escaped(line: string): string {
  return line.replaceAll("\\", "\\e").replaceAll("-", "\\-").replace(/^([.'])/, "\\&$1")
    .replace(
      /[^\0-\x7f]/gu,
      (character) => `\\[u${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`,
    );
}
