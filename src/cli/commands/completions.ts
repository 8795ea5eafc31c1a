/**
 * `jobs completions SHELL`: a script that completes commands, options, states and names of queues. It is generated from the
 * commands' help texts.
 *
 * @module
 */
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import type { Command, CommandEntry } from "../commands_table.ts";
import { print } from "../terminal/output.ts";
import { STATES } from "../../operator/actions/places.ts";
import { TOPICS } from "../help/topics.ts";
import { shellFunction } from "./shell_init.ts";

const help = `
Usage: jobs completions bash|zsh|fish

Prints a script that completes commands, options, states and names of queues,
and defines the function of jobs shell-init. For every new shell:

  bash   jobs completions bash >~/.local/share/bash-completion/completions/jobs
  zsh    jobs completions zsh >~/.zfunc/_jobs
         (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  fish   jobs completions fish >~/.config/fish/completions/jobs.fish

Examples
  eval "$(env jobs completions bash)"
  env jobs completions fish | source`;

/** The words that can follow a command. */
interface Completed {
  readonly name: string;
  readonly about: string;
  /** Options without dashes. */
  readonly flags: readonly string[];
  /** Words that may be its first argument. */
  readonly words: readonly string[];
}

const SHELLS: Readonly<Record<string, (commands: readonly Completed[]) => string>> = { bash, zsh, fish };

/**
 * Prints the names of queues, one a line. A slow store must not block the shell. Other programs choose the names: no script may
 * evaluate them, neither here nor when the completed line runs.
 */
const QUEUES = "timeout 5 env jobs __queues 2>/dev/null";

/** The states that `--all` and `jobs list` accept. */
const STATE_WORDS = STATES.join(" ");

/** Returns the command, for a table of commands. */
export function completionsOf(commands: Readonly<Record<string, CommandEntry>>): Command {
  return {
    help,
    async run(argv) {
      const { args } = parseCommand("completions", argv, COMMON_FLAGS, "bash|zsh|fish");
      const shell = args[0]!;
      if (!Object.hasOwn(SHELLS, shell)) {
        throw new UsageError(`Unknown shell "${shell}": expected ${Object.keys(SHELLS).join(", ")}`);
      }
      const known = await Promise.all(
        Object.entries(commands).map(async ([name, [about, load]]) => completed(name, about, await load())),
      );
      const topics = [...new Set([...Object.keys(commands), ...Object.keys(TOPICS)])];
      const help: Completed = { name: "help", about: "describe a command or a topic", flags: [], words: topics };
      // zsh reads from the first line of a file on its path what the file completes.
      const head = shell === "zsh" ? "#compdef jobs\n" : "";
      print(`${head}${shellFunction(shell, Object.keys(commands))}\n${SHELLS[shell]!([...known, help])}`);
      return 0;
    },
  };
}

/** Reads options and first arguments from a command's help texts. */
function completed(name: string, about: string, { help, subcommands = {} }: Command): Completed {
  const text = [help, ...Object.values(subcommands)].join("\n");
  const flags = new Set([...text.matchAll(/(?<![\w'-])--([a-z][a-z-]*[a-z])/g)].map((match) => match[1]!));
  for (const flag of Object.keys(COMMON_FLAGS)) flags.add(flag);
  const [head = ""] = help.trim().split("\n\n");
  const usage = [...head.matchAll(new RegExp(`^(?:Usage:)? +jobs ${name} ([a-z|]+)`, "gm"))];
  const first = name === "list" ? [...STATES, "finished"] : usage.flatMap((match) => match[1]!.split("|"));
  return { name, about, flags: [...flags].sort(), words: [...new Set([...first, ...Object.keys(subcommands)])] };
}

function wordsOf({ flags, words }: Completed): string {
  return [...words, ...flags.map((flag) => `--${flag}`)].join(" ");
}

function bash(commands: readonly Completed[]): string {
  return `_jobs() {
  local word current=\${COMP_WORDS[COMP_CWORD]}
  local -a words=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=(${commands.map(({ name }) => name).join(" ")})
  else
    case \${COMP_WORDS[COMP_CWORD - 1]} in
      -q | --queue | --to | clear | limit | pause | resume) mapfile -t words < <(${QUEUES}) ;;
      --all) words=(${STATE_WORDS}) ;;
      *)
        case \${COMP_WORDS[1]} in
${commands.map((command) => `          ${command.name}) words=(${wordsOf(command)}) ;;`).join("\n")}
        esac
        ;;
    esac
  fi
  COMPREPLY=()
  for word in "\${words[@]}"; do
    # bash inserts a reply as it is.
    if [[ $word == "$current"* ]]; then COMPREPLY+=("$(printf %q "$word")"); fi
  done
}
complete -o default -F _jobs jobs`;
}

function zsh(commands: readonly Completed[]): string {
  return `_jobs() {
  if (( CURRENT == 2 )); then
    local -a commands=(
${commands.map(({ name, about }) => `      ${quoted(`${name}:${about}`)}`).join("\n")}
    )
    _describe command commands
    return
  fi
  case $words[CURRENT-1] in
    -q|--queue|--to|clear|limit|pause|resume)
      local -a queues=("\${(@f)$(${QUEUES})}")
      compadd -- $queues
      return
      ;;
    --all) compadd -- ${STATE_WORDS}; return ;;
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
    "complete -c jobs -e # completions of fish's builtin",
    `function __jobs_queues; ${QUEUES}; end`,
    ...commands.flatMap(({ name, about, flags, words }) => [
      `complete -c jobs -n ${quoted(`not __fish_seen_subcommand_from ${names}`)} -f -a ${name} -d ${quoted(about)}`,
      ...(words.length > 0 ? [`complete -c jobs ${after(name)} -f -a ${quoted(words.join(" "))}`] : []),
      ...flags.map((flag) => `complete -c jobs ${after(name)} -l ${flag}${fishValues(flag)}`),
    ]),
    `complete -c jobs ${after("clear limit pause resume")} -f -a '(__jobs_queues)'`,
  ].join("\n");
}

function fishValues(flag: string): string {
  if (flag === "queue") return " -s q -x -a '(__jobs_queues)'";
  if (flag === "to") return " -x -a '(__jobs_queues)'";
  return flag === "all" ? ` -x -a ${quoted(STATE_WORDS)}` : "";
}

/** Quotes a text in single quotes, which all three shells read alike. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "")}'`;
}
