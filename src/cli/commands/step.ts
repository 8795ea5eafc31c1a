/** `jobs step run|sleep|wait|child|cursor|progress|log|stream|push`: steps, reports and pushes of a program. @module */
import { parseLossless } from "../../job/json.ts";
import type { LogLevel } from "../../log/log.ts";
import { argumentsText } from "../shared/arguments.ts";
import { endProgram, type RequestBody, requestStep } from "../shared/step_client.ts";
import { COMMON_FLAGS, parseCommand, splitCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { printError, printExact } from "../terminal/output.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs step run NAME [OPTION …] -- COMMAND [ARG …]
       jobs step sleep NAME TIME
       jobs step wait NAME --key KEY --timeout TIME
       jobs step child NAME CLASS [ARG …]
       jobs step cursor NAME [VALUE]
       jobs step progress DONE [NOTE]
       jobs step log LEVEL MESSAGE
       jobs step stream [TEXT]
       jobs step push CLASS [ARG …] [OPTION …]

For programs that perform jobs ("exec" in the configuration): the durable steps
of the job. When the program runs again, it repeats no completed step.

  run       run COMMAND once, and print its output, also in later attempts
  sleep     continue after a time
  wait      continue with a signal (jobs signal KEY), and print its data;
            exit 1 if the time has passed
  child     run another job, and print its result
  cursor    store how far a loop is, or print what was stored last
  progress  show how far the job is; the NOTE "percent" or "of 800" adds a bar
  log       log a line with a level: debug, info, warn or error
  stream    add TEXT, or all of stdin as it arrives, to the stream of the job
            (jobs stream JID)
  push      push another job into the worker's store, with the options of
            jobs push, and print its jid; nothing if it is a duplicate

A sleep, a wait and a failure end the program; its job runs it again later. A
step with --retry, and a child, exit 1 when they have failed for good.

      --each ID          run: distinguishes the steps of a loop
      --retry N          run: retry this often without using an attempt of the
                         job, with a growing pause
      --backoff TIME     run: the first pause (1s)
      --timeout TIME     run, wait: after this time it has failed, or ends
      --key KEY          wait: the key of the signal
      --example JSON     wait: data as expected, for the page that sends it
      --in-batch         push: as a member of this job's batch
  -q, --queue QUEUE      child, push: its queue
      --give-up-after TIME
                         child: it has failed after this time (30d)

COMMAND has JOBS_STEP_ATTEMPT and JOBS_IDEMPOTENCY_KEY in its environment.

Examples
  charge=$(jobs step run charge --timeout 30s -- ./charge "$order")
  jobs step sleep "cooling off" 2d
  answer=$(jobs step wait approval --key "order:$order" --timeout 7d)
  rows_after "$(jobs step cursor rows)" | while read -r row; do
    import "$row" && jobs step cursor rows "$row"
  done
  jobs step progress 40 percent
  make 2>&1 | jobs step stream
  jobs step push Notify "$order" --in 5m`;

const FLAGS = {
  ...COMMON_FLAGS,
  each: { takes: "text" },
  retry: { takes: "text" },
  backoff: { takes: "text" },
  timeout: { takes: "text" },
  key: { takes: "text" },
  example: { takes: "text" },
  queue: { takes: "text", short: "q" },
  "give-up-after": { takes: "text" },
} as const;

type Flags = ReturnType<typeof parseCommand<typeof FLAGS>>["flags"];
type FlagName = Exclude<keyof typeof FLAGS, keyof typeof COMMON_FLAGS>;

/** A subcommand: its arguments, its options, and its request. */
interface Verb {
  readonly usage: string;
  readonly flags: readonly FlagName[];
  request(args: readonly string[], flags: Flags): RequestBody;
}

const VERBS: Readonly<Record<string, Verb>> = {
  run: {
    usage: "NAME COMMAND [ARG …]",
    flags: ["each", "retry", "backoff", "timeout"],
    request: ([name], { each, retry, backoff, timeout }) => ({
      kind: "step",
      name: name!,
      ...given({ each, backoff, timeout }),
      ...(retry !== undefined && { retry: retries(retry) }),
    }),
  },
  sleep: {
    usage: "NAME TIME",
    flags: [],
    request: ([name, duration]) => ({ kind: "sleep", name: name!, duration: duration! }),
  },
  wait: {
    usage: "NAME",
    flags: ["key", "timeout", "example"],
    request: ([name], { key, timeout, example }) => {
      if (key === undefined || timeout === undefined) {
        throw new UsageError("Missing option. Usage: jobs step wait NAME --key KEY --timeout TIME");
      }
      if (example !== undefined) checkJson(example);
      return { kind: "wait", name: name!, key, timeout, ...(example !== undefined && { example }) };
    },
  },
  child: {
    usage: "NAME CLASS [ARG …]",
    flags: ["queue", "give-up-after"],
    request: ([name, className, ...args], { queue, "give-up-after": giveUpAfter }) => ({
      kind: "child",
      name: name!,
      class: className!,
      args: argumentsText(args),
      ...given({ queue, giveUpAfter }),
    }),
  },
  cursor: {
    usage: "NAME [VALUE]",
    flags: [],
    // A text, so that it is printed as it was given.
    request: ([name, value]) => ({
      kind: "cursor",
      name: name!,
      ...(value !== undefined && { cursor: JSON.stringify(value) }),
    }),
  },
  progress: {
    usage: "DONE [NOTE]",
    flags: [],
    request: ([done, note]) => ({ kind: "progress", done: amount(done!), ...given({ note }) }),
  },
  log: {
    usage: "LEVEL MESSAGE",
    flags: [],
    request: ([level, message]) => ({ kind: "log", level: level as LogLevel, message: message! }),
  },
};

/**
 * Performs a step of the job whose program runs this command. The exit code is 0, or 1 for a step that has failed for good. Any
 * other error ends the program, like a sleep: a script would take it for such a step, and run its compensation.
 */
export async function run(argv: readonly string[]): Promise<number> {
  try {
    return await perform(argv);
  } catch (error) {
    endProgram(error);
    throw error;
  }
}

async function perform(argv: readonly string[]): Promise<number> {
  const { name = "", rest } = splitCommand(argv);
  if (name === "stream") return await (await import("./step_stream.ts")).stream(rest);
  if (name === "push") return await (await import("./step_push.ts")).push(rest);
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name]! : undefined;
  if (verb === undefined) {
    throw new UsageError(`Invalid command "step ${name}": expected ${Object.keys(VERBS).join(", ")}, stream, push`);
  }
  const { flags, args } = parseCommand(`step ${name}`, rest, FLAGS, verb.usage);
  const all = Object.keys(FLAGS).filter((flag) => !Object.hasOwn(COMMON_FLAGS, flag)) as FlagName[];
  const wrong = all.find((flag) => flags[flag] !== undefined && !verb.flags.includes(flag));
  if (wrong !== undefined) throw new UsageError(`Option --${wrong} doesn't apply to jobs step ${name}`);
  const request = verb.request(args, flags);
  const end = await requestStep(request, args.slice(1));
  if (end.failed !== undefined) {
    printError(`jobs: ${end.failed}`);
    return 1;
  }
  if (end.value !== undefined) printExact(shown(end.value));
  return end.value === undefined && request.kind === "wait" ? 1 : 0;
}

function given<Value>(fields: Readonly<Record<string, Value | undefined>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Record<string, Value>;
}

function amount(text: string): number {
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new UsageError(`Invalid progress "${text}": expected a number, for example: jobs step progress 40 percent`);
}

function retries(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`Invalid --retry "${text}": expected a whole number from 0`);
}

/** Returns a text as it is, and any other value as JSON. */
function shown(json: string): string {
  const value = parseLossless(json);
  return typeof value === "string" ? value : json;
}

function checkJson(example: string): void {
  try {
    parseLossless(example);
  } catch (error) {
    throw new UsageError(`Invalid --example "${example}": expected JSON (${(error as Error).message})`);
  }
}
