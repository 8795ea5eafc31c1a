/**
 * The command line: argv → command → exit code.
 *
 * Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted.
 *
 * @module
 */
import { closestWord } from "../job/suggest.ts";
import { type Command, COMMAND_GROUPS, COMMANDS, HIDDEN, SUGGESTED } from "./commands_table.ts";
import { hasFlag, splitCommand } from "./terminal/args.ts";
import { describeError, UsageError } from "./terminal/errors.ts";
import { disableColor, OutputClosed, print, printError, printJson } from "./terminal/output.ts";

/** Runs the command line. Never throws; returns the exit code. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  // A dumb terminal shows escape codes as they are.
  if (hasFlag(argv, "--no-color") || Deno.env.get("TERM") === "dumb") disableColor();
  try {
    return await dispatch(argv);
  } catch (error) {
    return explain(error, hasFlag(argv, "--json"));
  }
}

async function dispatch(argv: readonly string[]): Promise<number> {
  const { name, rest } = splitCommand(argv);
  const needsHelp = hasFlag(argv, "--help", "-h");
  if (name === undefined) {
    if (needsHelp) print(await overview());
    else for (const line of (await overview()).split("\n")) printError(line);
    return needsHelp ? 0 : 2;
  }
  if (name === "help") return await help(rest);
  if (name === "--version" || name === "-V" || name === "-v") return await dispatch(["version", ...rest]);
  const command = await load(name);
  if (needsHelp) {
    print((command.subcommands?.[splitCommand(rest).name ?? ""] ?? command.help).trim());
    return 0;
  }
  return await command.run(rest);
}

async function help(argv: readonly string[]): Promise<number> {
  const words = argv.filter((arg) => !arg.startsWith("-"));
  const [topic, subcommand, ...more] = words;
  if (topic === undefined) {
    print(await overview());
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, topic) ? await COMMANDS[topic]![1]() : undefined;
  const text = subcommand === undefined ? command?.help ?? await topicText(topic) : command?.subcommands?.[subcommand];
  if (text !== undefined && more.length === 0) {
    print(text.trim());
    return 0;
  }
  if (subcommand !== undefined) {
    throw new UsageError(`Unexpected argument "${words.at(-1)}". Usage: jobs help [COMMAND|TOPIC]`);
  }
  const { TOPICS } = await import("./help/topics.ts");
  const meant = Object.hasOwn(SUGGESTED, topic)
    ? SUGGESTED[topic]
    : closestWord(topic, [...Object.keys(COMMANDS), ...Object.keys(TOPICS)]);
  throw new UsageError(
    `Unknown help topic "${topic}"; ${meant ? `did you mean jobs help ${meant}?` : "see jobs help"}`,
  );
}

async function topicText(name: string): Promise<string | undefined> {
  const { TOPICS } = await import("./help/topics.ts");
  return Object.hasOwn(TOPICS, name) ? await TOPICS[name]![1]() : undefined;
}

function load(name: string): Promise<Command> {
  if (Object.hasOwn(COMMANDS, name)) return COMMANDS[name]![1]();
  if (Object.hasOwn(HIDDEN, name)) return HIDDEN[name]!();
  if (name.startsWith("-")) throw new UsageError(`Unknown option "${name}" before the command; see jobs --help`);
  const meant = Object.hasOwn(SUGGESTED, name) ? SUGGESTED[name] : closestWord(name, Object.keys(COMMANDS));
  throw new UsageError(`Unknown command "${name}"; ${meant ? `did you mean jobs ${meant}?` : "see jobs --help"}`);
}

async function overview(): Promise<string> {
  const { TOPICS } = await import("./help/topics.ts");
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  return [
    "jobs: background jobs in one executable",
    "",
    "Usage: jobs COMMAND [ARGUMENT …] [OPTION …]",
    "",
    ...Object.entries(COMMAND_GROUPS).flatMap(([group, commands]) => [
      group,
      ...Object.entries(commands).map(([name, [about]]) => `  ${name.padEnd(width)}  ${about}`),
      "",
    ]),
    "Examples",
    "  jobs run handlers.js --web 7433",
    "  jobs push Greet bob --in 5m",
    "  jobs retry --all dead --class ImportFile --older-than 1h",
    "",
    "Options of every command, anywhere on the line",
    "      --store URL         sqlite:PATH, redis://HOST or postgres://HOST/DB",
    "  -C, --config FILE       the configuration file (jobs help configuration)",
    "  -e, --environment NAME  its section for an environment",
    "      --json              print JSON (jobs help json)",
    "      --no-color          print without colors",
    "  -h, --help              print help",
    "",
    "jobs COMMAND --help describes a command, jobs help TOPIC one of",
    ...wrapWords(Object.keys(TOPICS), 76).map((line) => `  ${line}`),
    "",
    'jobs is also a builtin of most shells: eval "$(env jobs shell-init bash)"',
  ].join("\n");
}

function wrapWords(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length + 2 > width) lines.push(word);
    else lines[lines.length - 1] = `${last}, ${word}`;
  }
  return lines;
}

/** Prints an error: a line on stderr and, with `--json`, an object on stdout. Returns the exit code. */
function explain(error: unknown, json: boolean): number {
  if (error instanceof OutputClosed) return 0;
  if (error instanceof Error && error.name === "StartEnded") {
    printError(`jobs: ${error.message}`);
    return 0;
  }
  const known = describeError(error);
  if (known === undefined) {
    printError("jobs: unexpected error, please report it");
    for (const line of String(error instanceof Error ? error.stack : error).split("\n")) printError(line);
    return 1;
  }
  const { code, message, exit } = known;
  // Several problems, of cron entries, are several lines.
  const lines = code === "cron" ? message.split("\n") : [message];
  for (const line of lines) printError(`jobs: ${line}`);
  try {
    if (json) printJson({ error: { code, message } });
  } catch {
    // The line on stderr has to do.
  }
  return exit;
}
