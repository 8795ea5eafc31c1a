/**
 * `jobs shell-init SHELL`: a shell function named `jobs`. `jobs` is a builtin of bash, zsh, sh and fish, and a builtin comes
 * before a program of the same name. The function calls the program for the program's commands and options, and the
 * builtin for everything else: `jobs`, `jobs -l` and `jobs %1` keep working.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import type { Command } from "../commands_table.ts";
import { print } from "../terminal/output.ts";

const help = `
Usage: eval "$(env jobs shell-init bash)"

Prints a shell function that makes jobs this program: jobs is also a builtin of
bash, zsh, sh and fish, and comes first. The function runs the program for its
commands and options, and the builtin otherwise: jobs, jobs -l and jobs %1 list
the shell's jobs as before. Put the line into the shell's start file:

  bash  ~/.bashrc                     eval "$(env jobs shell-init bash)"
  zsh   ~/.zshrc                      eval "$(env jobs shell-init zsh)"
  fish  ~/.config/fish/config.fish    env jobs shell-init fish | source
  sh    ~/.profile                    eval "$(env jobs shell-init sh)"

Examples
  eval "$(env jobs shell-init bash)"
  eval "$(./jobs shell-init bash)"`;

/** The program's options that the builtins of the shells don't have. */
const OPTIONS = [
  "--help",
  "-h",
  "--version",
  "-V",
  "-v",
  "--store",
  "--store=*",
  "--json",
  "--no-color",
  "--config",
  "--config=*",
  "-C",
  "--environment",
  "--environment=*",
  "-e",
];

const SHELLS = ["bash", "zsh", "fish", "sh"];

/** Returns the command, for a list of commands. */
export function shellInitOf(commands: readonly string[]): Command {
  return {
    help,
    run(argv) {
      const { args } = parseCommand("shell-init", argv, COMMON_FLAGS, "bash|zsh|fish|sh");
      const shell = args[0]!;
      if (!SHELLS.includes(shell)) throw new UsageError(`Unknown shell "${shell}": expected ${SHELLS.join(", ")}`);
      print(shellFunction(shell, commands));
      return Promise.resolve(0);
    },
  };
}

/** Returns the function's definition. */
export function shellFunction(shell: string, commands: readonly string[]): string {
  const words = ["help", ...commands];
  return shell === "fish" ? fish(programPath(), words) : posix(shell, programPath(), words);
}

/** Returns the program to call: the executable; from the sources, the script next to `main.ts`. */
export function programPath(main: string = Deno.mainModule): string {
  return Deno.build.standalone ? Deno.execPath() : fileURLToPath(new URL("./jobs", main));
}

/** In zsh, `command` runs programs only; dash has no `builtin`. */
const BUILTIN: Readonly<Record<string, string>> = { bash: "builtin", zsh: "builtin", sh: "command" };

function posix(shell: string, program: string, words: readonly string[]): string {
  // `-l`, `-n`, `-p`, `-r`, `-s` and `-x` are options of the builtin.
  return `unalias jobs 2>/dev/null || true
jobs() {
  case "\${1-}" in
    ${[...words, ...OPTIONS].join(" | ")})
      ${quoted(program)} "$@" ;;${shell === "bash" ? BASH_IN_PIPE : ""}
    *) ${BUILTIN[shell]} jobs "$@" ;;
  esac
}${shell === "bash" ? BASH_ALIAS : ""}`;
}

/**
 * In bash, `jobs | less` prints the shell's jobs only if the pipe runs the builtin itself. For a function, bash has cleared
 * the list by then. The alias reads it before the function is called, as the value of variables. Scripts have no aliases:
 * there, `$(jobs -p)` works.
 */
const BASH_ALIAS = `
alias jobs='__jobs="$(builtin jobs)" __jobs_l="$(builtin jobs -l)" __jobs_p="$(builtin jobs -p)" jobs'`;

const BASH_IN_PIPE = `
    "" | -l | -p)
      builtin jobs "$@"
      if [ "$BASH_SUBSHELL" != 0 ] && [ -n "\${__jobs-}" ] && [ -z "$(builtin jobs)" ]; then
        case "\${1-}" in
          -l) printf '%s\\n' "$__jobs_l" ;;
          -p) printf '%s\\n' "$__jobs_p" ;;
          *) printf '%s\\n' "$__jobs" ;;
        esac
      fi ;;`;

function fish(program: string, words: readonly string[]): string {
  const options = OPTIONS.map((option) => option.endsWith("*") ? `'${option}'` : option);
  return `function jobs
    switch "$argv[1]"
        case ${[...words, ...options].join(" ")}
            ${quoted(program)} $argv
        case '*'
            builtin jobs $argv
    end
end`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\\\''")}'`;
}
