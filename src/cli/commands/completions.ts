/**
 * `jobs completions SHELL`: a script that completes commands, their options and the names of queues. It is made from the
 * commands' own help, so that it knows what they know.
 *
 * @module
 */
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import type { Command } from "../cli.ts";
import { print } from "../terminal/output.ts";
import { TOPICS } from "../help/topics.ts";

const help = `
Usage: jobs completions bash|zsh|fish

Prints a script that completes commands, options and the names of queues. To have it in every new shell:

  bash   jobs completions bash >~/.local/share/bash-completion/completions/jobs
  zsh    jobs completions zsh >~/.zfunc/_jobs      (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  fish   jobs completions fish >~/.config/fish/completions/jobs.fish`;

/** Commands: name → what it does, and how to load it. */
type Commands = Readonly<Record<string, readonly [about: string, load: () => Promise<Command>]>>;

/** What can be completed after a command. */
interface Completed {
  readonly name: string;
  readonly about: string;
  /** Without dashes. */
  readonly flags: readonly string[];
  /** What may stand as its first argument: `queues` of `jobs list`. */
  readonly words: readonly string[];
}

const SHELLS: Readonly<Record<string, (commands: readonly Completed[]) => string>> = { bash, zsh, fish };

/** Prints the queues' names. A store that is slow to answer must not hold up whoever presses a key. */
const QUEUES = "timeout 3 jobs list queues 2>/dev/null | awk 'NR > 1 { print $1 }'";

/** The command, for a table of commands. */
export function completionsOf(commands: Commands): Command {
  return {
    help,
    async run(argv) {
      const { args: [shell, ...more] } = parseCommand("completions", argv, COMMON_FLAGS);
      if (shell === undefined || !Object.hasOwn(SHELLS, shell) || more.length > 0) {
        throw new UsageError(
          `${shell === undefined ? "No shell is named" : `"${[shell, ...more].join(" ")}" is no shell that is known`}` +
            `; wanted: jobs completions ${Object.keys(SHELLS).join("|")}`,
        );
      }
      const known = await Promise.all(
        Object.entries(commands).map(async ([name, [about, load]]) => completed(name, about, (await load()).help)),
      );
      const topics = [...new Set([...Object.keys(commands), ...Object.keys(TOPICS)])];
      const help: Completed = { name: "help", about: "tell of a command or a topic", flags: [], words: topics };
      print(SHELLS[shell]!([...known, help]));
      return 0;
    },
  };
}

/** Reads options and first arguments out of a command's help. */
function completed(name: string, about: string, help: string): Completed {
  const flags = new Set([...help.matchAll(/--([a-z][a-z-]*[a-z])/g)].map((match) => match[1]!));
  for (const flag of Object.keys(COMMON_FLAGS)) flags.add(flag);
  const usage = [...help.matchAll(new RegExp(`^(?:Usage:)? +jobs ${name} ([a-z|]+)`, "gm"))];
  return { name, about, flags: [...flags].sort(), words: [...new Set(usage.flatMap((match) => match[1]!.split("|")))] };
}

function wordsOf({ flags, words }: Completed): string {
  return [...words, ...flags.map((flag) => `--${flag}`)].join(" ");
}

function bash(commands: readonly Completed[]): string {
  return `_jobs() {
  local words="" current=\${COMP_WORDS[COMP_CWORD]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(" ")}"
  else
    case \${COMP_WORDS[COMP_CWORD - 1]} in
      -q | --queue | queue | clear | limit | pause | resume) words=$(${QUEUES}) ;;
      *)
        case \${COMP_WORDS[1]} in
${commands.map((command) => `          ${command.name}) words="${wordsOf(command)}" ;;`).join("\n")}
        esac
        ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _jobs jobs`;
}

function zsh(commands: readonly Completed[]): string {
  return `#compdef jobs
_jobs() {
  if (( CURRENT == 2 )); then
    local -a commands=(
${commands.map(({ name, about }) => `      ${quoted(`${name}:${about}`)}`).join("\n")}
    )
    _describe command commands
    return
  fi
  case $words[CURRENT-1] in
    -q|--queue|queue|clear|limit|pause|resume) compadd -- $(${QUEUES}); return ;;
  esac
  case $words[2] in
${commands.map((command) => `    ${command.name}) compadd -- ${wordsOf(command)} ;;`).join("\n")}
  esac
  _files
}
if [ "$funcstack[1]" = _jobs ]; then _jobs "$@"; else compdef _jobs jobs; fi`;
}

function fish(commands: readonly Completed[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  const after = (name: string) => `-n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
  return [
    "complete -c jobs -e # what fish knows of its own command of that name",
    `function __jobs_queues; ${QUEUES}; end`,
    ...commands.flatMap(({ name, about, flags, words }) => [
      `complete -c jobs -n ${quoted(`not __fish_seen_subcommand_from ${names}`)} -f -a ${name} -d ${quoted(about)}`,
      ...(words.length > 0 ? [`complete -c jobs ${after(name)} -f -a ${quoted(words.join(" "))}`] : []),
      ...flags.map((flag) =>
        `complete -c jobs ${after(name)} -l ${flag}${flag === "queue" ? " -s q -x -a '(__jobs_queues)'" : ""}`
      ),
    ]),
    `complete -c jobs ${after("queue clear limit pause resume")} -f -a '(__jobs_queues)'`,
  ].join("\n");
}

/** In single quotes, as all three shells read them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "")}'`;
}
