/**
 * The command line: argv → a subcommand → the exit code. Each subcommand is a file with its help text, loaded when it is
 * asked for: `jobs push` never reads the server.
 *
 * Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C before its end.
 *
 * @module
 */
import { closestWord } from "../text/suggest.ts";
import { UsageError } from "./terminal/args.ts";
import { blankControls, OutputClosed, print, printError } from "./terminal/output.ts";

/** A subcommand. */
export interface Command {
  /** What `--help` prints. */
  readonly help: string;
  /** Does it; returns the exit code. */
  run(argv: readonly string[]): Promise<number>;
}

/** Name → what it does, in a few words, and where it is. */
const COMMANDS: Readonly<Record<string, readonly [about: string, load: () => Promise<Command>]>> = {
  run: ["process jobs until told to stop", () => import("./commands/run.ts")],
  push: ["enqueue a job, now or later", () => import("./commands/push.ts")],
  show: ["show one job", () => import("./commands/show.ts")],
  find: ["find jobs by any text in them", () => import("./commands/find.ts")],
  list: ["list queues, a queue, scheduled, retry, dead, busy or done", () => import("./commands/list.ts")],
  cron: ["list, run, pause, add and check what is enqueued by the clock", () => import("./commands/cron.ts")],
  ps: ["list the running processes", () => import("./commands/ps.ts")],
  stats: ["count everything", () => import("./commands/stats.ts")],
  top: ["watch everything live, and act on it", () => import("./commands/top.ts")],
  retry: ["run scheduled, failed or dead jobs now", () => import("./commands/retry.ts")],
  kill: ["move jobs to dead", () => import("./commands/kill.ts")],
  delete: ["delete jobs", () => import("./commands/delete.ts")],
  cancel: ["remove jobs that wait, abort those that run", () => import("./commands/cancel.ts")],
  clear: ["delete the jobs of a queue", () => import("./commands/clear.ts")],
  steps: ["list, clear or wake the durable steps of a job", () => import("./commands/steps.ts")],
  signal: ["send a signal to the job that waits for it", () => import("./commands/signal.ts")],
  pause: ["let no jobs be taken from a queue, or from any", () => import("./commands/pause.ts")],
  resume: ["end a pause", () => import("./commands/resume.ts")],
  limit: ["limit how many jobs of a queue run at once, or start in a time", () => import("./commands/limit.ts")],
  quiet: ["let a process finish and take nothing more", () => import("./commands/quiet.ts")],
  stop: ["stop a process", () => import("./commands/stop.ts")],
  dump: ["print what every task of a process is doing", () => import("./commands/dump.ts")],
  move: ["move everything to another store", () => import("./commands/migrate.ts")],
  web: ["show the dashboard", () => import("./commands/web.ts")],
  bench: ["measure what this machine and the store can do", () => import("./commands/bench.ts")],
  doctor: ["check the settings and the store", () => import("./commands/doctor.ts")],
  completions: [
    "print completions for a shell",
    async () => (await import("./commands/completions.ts")).completionsOf(COMMANDS),
  ],
  man: ["print the manual page", async () => (await import("./commands/man.ts")).manOf(COMMANDS)],
  version: ["print the version", () => import("./commands/version.ts")],
};

/** What this program starts itself; not for people, and not in the overview. */
const HIDDEN: Readonly<Record<string, () => Promise<Command>>> = {
  __horse: () => import("./commands/horse.ts"),
};

/** Runs the command line. Never throws; returns the exit code. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  try {
    return await dispatch(argv);
  } catch (error) {
    return explain(error);
  }
}

async function dispatch(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined) {
    printError(await overview());
    return 2;
  }
  if (name === "help" || name === "--help" || name === "-h") {
    const [topic, more] = name === "help" ? rest : [undefined, rest[0]];
    if (more !== undefined) throw new UsageError(`Superfluous: "${more}"; wanted: jobs help [COMMAND or TOPIC]`);
    print(topic === undefined ? await overview() : await helpOn(topic));
    return 0;
  }
  if (name === "--version" || name === "-V") return await dispatch(["version", ...rest]);
  const command = await load(name);
  const flags = rest.slice(0, rest.includes("--") ? rest.indexOf("--") : rest.length);
  if (flags.includes("--help") || flags.includes("-h")) {
    print(command.help.trim());
    return 0;
  }
  return await command.run(rest);
}

/** A command's help, a topic's text, or, where both have the name, the one after the other. */
async function helpOn(name: string): Promise<string> {
  const { TOPICS } = await import("./help/topics.ts");
  const texts: string[] = [];
  if (Object.hasOwn(COMMANDS, name)) texts.push((await COMMANDS[name]![1]()).help.trim());
  if (Object.hasOwn(TOPICS, name)) texts.push((await TOPICS[name]![1]()).trim());
  if (texts.length > 0) return texts.join("\n\n");
  const meant = closestWord(name, [...Object.keys(COMMANDS), ...Object.keys(TOPICS)]);
  throw new UsageError(
    `There is no help on "${name}"${meant ? `; did you mean jobs help ${meant}?` : "; jobs help names what there is"}`,
  );
}

function load(name: string): Promise<Command> {
  const known = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (known) return known[1]();
  if (Object.hasOwn(HIDDEN, name)) return HIDDEN[name]!();
  const meant = closestWord(name, Object.keys(COMMANDS));
  throw new UsageError(`Unknown command "${name}"${meant ? `; did you mean jobs ${meant}?` : "; see jobs --help"}`);
}

async function overview(): Promise<string> {
  const { TOPICS } = await import("./help/topics.ts");
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  return [
    "jobs: background jobs in one executable",
    "",
    "Usage: jobs COMMAND [ARGUMENT …] [--store URL] [--json] [--help]",
    "",
    ...Object.entries(COMMANDS).map(([name, [about]]) => `  ${name.padEnd(width)}  ${about}`),
    "",
    "jobs help TOPIC tells of more than one command:",
    "",
    ...Object.entries(TOPICS).map(([name, [about]]) => `  ${name.padEnd(13)}  ${about}`),
    "",
    "The store is --store URL, else JOBS_STORE, else REDIS_URL, else the configuration file's, else",
    "sqlite:~/.local/state/jobs/jobs.db. jobs COMMAND --help tells more.",
  ].join("\n");
}

/** Errors that are the user's or the world's, by name: they get one line, not a stack trace. */
const EXIT_CODES: Readonly<Record<string, number>> = {
  StartEnded: 0,
  UsageError: 2,
  ConfigError: 2,
  CrontabError: 2,
  CursorError: 2,
  InvalidPayload: 2,
  HandlerError: 1,
  SpawnError: 1,
  NameTaken: 1,
  PidfileError: 1,
  LogError: 1,
  StoreError: 1,
  MoveError: 1,
  OutputFailed: 1,
  Interrupted: 130,
};

function explain(error: unknown): number {
  if (error instanceof OutputClosed) return 0;
  if (error instanceof Error && Object.hasOwn(EXIT_CODES, error.name)) {
    printError(`jobs: ${blankControls(error.message)}`);
    return EXIT_CODES[error.name]!;
  }
  printError(`jobs: unexpected error, please report it\n${error instanceof Error ? error.stack : String(error)}`);
  return 1;
}
