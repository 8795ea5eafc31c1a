/**
 * `jobs man`: the manual page, generated from the commands' help texts and the topics.
 *
 * @module
 */
import { VERSION } from "../../version.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import type { Command, CommandEntry } from "../commands_table.ts";
import { print } from "../terminal/output.ts";
import { TOPICS } from "../help/topics.ts";

const help = `
Usage: jobs man

Prints the manual page in the format of man.

Examples
  jobs man | man -l -
  jobs man >/usr/local/share/man/man1/jobs.1`;

/** Topics with long tables, which have pages in docs/. */
const LEFT_OUT: ReadonlySet<string> = new Set(["json", "settings"]);

type Groups = Readonly<Record<string, Readonly<Record<string, CommandEntry>>>>;

/** Returns the command, for groups of commands. */
export function manOf(groups: Groups): Command {
  return {
    help,
    async run(argv) {
      parseCommand("man", argv, COMMON_FLAGS, "");
      print(await manual(groups));
      return 0;
    },
  };
}

async function manual(groups: Groups): Promise<string> {
  const parts = [
    `.TH JOBS 1 "" "jobs ${VERSION}" "jobs"`,
    ".nh",
    ".SH NAME",
    "jobs \\- background jobs in one executable",
    ".SH SYNOPSIS",
    ".B jobs",
    "COMMAND [ARGUMENT ...] [OPTION ...]",
    ".SH DESCRIPTION",
    "jobs enqueues, schedules and processes background jobs, in a SQLite file or in Redis in Sidekiq's format.",
    "Every command accepts",
    ".B \\-\\-store",
    "URL (see STORES),",
    ".B \\-\\-json",
    "for output that programs read,",
    ".B \\-\\-config",
    "FILE and",
    ".B \\-\\-environment",
    "NAME (see CONFIGURATION),",
    ".B \\-\\-no\\-color",
    "and",
    ".BR \\-\\-help .",
    "Most shells have a builtin of this name:",
    ".B jobs shell\\-init",
    "prints a function that makes jobs this program.",
  ];
  for (const [group, commands] of Object.entries(groups)) {
    parts.push(`.SH ${escaped(group.toUpperCase())}`);
    for (const [name, [about, load]] of Object.entries(commands)) {
      const { help, subcommands = {} } = await load();
      parts.push(`.SS jobs ${escaped(name)} \\(em ${escaped(about)}`, ...verbatim(help));
      for (const [sub, text] of Object.entries(subcommands)) {
        parts.push(`.SS jobs ${escaped(name)} ${escaped(sub)}`, ...verbatim(text));
      }
    }
  }
  for (const [name, [, load]] of Object.entries(TOPICS)) {
    if (LEFT_OUT.has(name)) continue;
    // The first line of a topic is its title.
    const [title, ...lines] = (await load()).trim().split("\n");
    parts.push(`.SH ${title!.toUpperCase()}`, ...verbatim(lines.join("\n")));
  }
  parts.push(
    ".SH SEE ALSO",
    "jobs help TOPIC describes:",
    `${Object.keys(TOPICS).map(escaped).join(",\n")}.`,
  );
  return parts.join("\n");
}

/** Returns text that man prints unchanged. */
function verbatim(text: string): string[] {
  return [".nf", ...text.trim().split("\n").map((line) => line === "" ? ".sp" : escaped(line)), ".fi"];
}

/** Escapes the characters that roff interprets. */
function escaped(line: string): string {
  return line.replaceAll("\\", "\\e").replaceAll("-", "\\-").replace(/^([.'])/, "\\&$1")
    .replace(
      /[^\0-\x7f]/gu,
      (character) => `\\[u${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`,
    );
}
