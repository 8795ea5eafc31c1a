/** `jobs push CLASS [ARG …]`. @module */
import { Client } from "../../client/client.ts";
import type { Settings } from "../../config/settings.ts";
import { parseLossless } from "../../job/json.ts";
import { type Blocker, blockersOf } from "../../store/ops/blockers.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { StoreError } from "../../store/port/errors.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { blankControls, OutputFailed, print, printError, printJson } from "../terminal/output.ts";
import { OPTION_FLAGS, optionFlagsHelp, requestOf } from "./push_flags.ts";
import { withStore } from "../shared/store.ts";
import { type ClientTracing, traced } from "../shared/tracing.ts";
import type { Store } from "../../store/admin/store.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs push CLASS [ARG …] [OPTION …]
       jobs push [CLASS] --bulk FILE.ndjson|- [OPTION …]

Enqueues a job and prints its jid. What it does not say (queue, retries, timeout, lock), the class says, as the servers
that perform it told the store. An ARG that is JSON is that value, else it is a text: jobs push HardJob bob 5.
What begins with a dash stands after --: jobs push Add -- -1 2.

${optionFlagsHelp()}
      --args JSON        the arguments as one JSON array, instead of ARG …
      --strict           refuse a class that no worker has registered, instead of a warning
      --wait             wait until the job has ended, and print its result; exit 1 unless it is done. How it ended is
                         known for as long as the class says, and at least for what is usual (500 s, failures a day)
      --wait-timeout DURATION
                         wait so long at most; exit 1 when it is over, and the job goes on
      --bulk FILE        a job for each line of a file (- is stdin): an array of arguments for CLASS, or an object
                         with class, args, queue, at …; prints a jid for each`;

/** Enqueues. */
export function run(argv: readonly string[]): Promise<number> {
  return traced((tracing) => push(argv, tracing));
}

async function push(argv: readonly string[], tracing: ClientTracing): Promise<number> {
  const { flags, args: [name, ...rest] } = parseCommand("push", argv, {
    ...COMMON_FLAGS,
    ...OPTION_FLAGS,
    args: { takes: "text" },
    strict: { takes: "switch" },
    wait: { takes: "switch" },
    "wait-timeout": { takes: "text" },
    bulk: { takes: "text" },
  });
  if (flags.args !== undefined && rest.length > 0) {
    throw new UsageError(`Arguments are given twice: as --args and as "${rest[0]}"`);
  }
  const request = requestOf(name, flags);
  if (flags["wait-timeout"] !== undefined && !flags.wait) throw new UsageError("--wait-timeout is for --wait");
  if (flags.bulk !== undefined) {
    if (flags.wait) throw new UsageError("--wait is for one job; with --bulk there may be many");
    if (flags.args !== undefined || rest.length > 0) throw new UsageError("With --bulk, arguments stand in the file");
    const file = flags.bulk;
    return await withStore(flags, async (store, settings) => {
      const { pushLines } = await import("./push_bulk.ts");
      const { code, stored } = await pushLines(
        clientOf(store, settings, tracing, flags.strict),
        file,
        request,
        flags.json,
      );
      if (stored > 0) await afterStoring(() => remarkIfIdle(store));
      return code;
    }, { make: "always" });
  }
  if (name === undefined) throw new UsageError("A CLASS is wanted: jobs push CLASS [ARG …]");
  const args = flags.args === undefined ? rest.map(parseArgument) : parseArgs(flags.args);
  return await withStore(flags, async (store, settings) => {
    const client = clientOf(store, settings, tracing, flags.strict);
    const queueOf = async () => request.queue ?? String((await client.optionsOf(name))["queue"] ?? "default");
    const waited = flags.wait ? await import("./push_wait.ts") : undefined;
    const limitMs = waited?.waitTime(flags["wait-timeout"]);
    const jid = await client.push({ ...request, ...await waited?.keptFor(client, name, settings), class: name, args });
    if (jid === undefined) {
      printError("jobs: not enqueued: a job like this is there already");
      return 1;
    }
    try {
      if (waited === undefined) {
        if (flags.json) printJson({ jid });
        else print(jid);
      }
      const begin = () => afterStoring(async () => remarkIfIdle(store, { class: name, queue: await queueOf() }));
      if (waited !== undefined) return await waited.waitFor(jid, { store, client, begin, limitMs, json: flags.json });
      await begin();
      return 0;
    } catch (error) {
      if (!(error instanceof OutputFailed)) throw error;
      printError(`jobs: ${error.message}; the job is stored: ${jid}`);
      return 1;
    }
  }, { make: "always" });
}

function clientOf(store: Store, settings: Settings, tracing: ClientTracing, strict: boolean): Client {
  return new Client({
    store,
    strict,
    onUnregistered: (name) =>
      printError(
        `jobs: class "${
          blankControls(name)
        }" isn't registered: no worker has run it yet, so only the push's own options apply`,
      ),
    maxPayloadBytes: settings.maxPayloadBytes,
    sidekiqWire: settings.sidekiqWire,
    ...tracing,
  });
}

/** What is stored is stored: whoever took an error here for a failure would push it again. */
async function afterStoring(tell: () => Promise<void>): Promise<void> {
  try {
    await tell();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    printError(`jobs: stored; whether somebody takes it cannot be told: ${error.message}`);
  }
}

/** Says so when nobody would perform the job; of many jobs, when nobody performs any. */
async function remarkIfIdle(store: Store, job?: { readonly class: string; readonly queue: string }): Promise<void> {
  const paused = store.admin.pausedQueues(job === undefined ? [ALL_QUEUES] : [ALL_QUEUES, job.queue]);
  const [processes, queues] = await Promise.all([store.workers.list(), paused]);
  const obstacles = blockersOf(job ?? { queue: "" }, { processes, queues });
  const nearest = obstacles.find(({ is }) =>
    is !== "busy" && (job !== undefined || is === "no-process" || is === "all-paused")
  );
  if (nearest !== undefined) printError(`jobs: stored, and ${remarkOn(nearest, job)}`);
}

function remarkOn({ is }: Blocker, job?: { readonly class: string; readonly queue: string }): string {
  const queue = `queue "${job?.queue}"`;
  switch (is) {
    case "all-paused":
      return "waits: all queues are paused (jobs resume)";
    case "paused":
      return `waits: ${queue} is paused (jobs resume ${job?.queue})`;
    case "limited":
      return `waits: ${queue} is at its limit`;
    case "no-process":
      return "waits: no process takes jobs from this store now (jobs run)";
    case "no-taker":
      return `waits: no process takes ${queue} now (jobs run -q ${job?.queue})`;
    case "quiet":
      return `waits: all processes that take ${queue} are quiet (jobs run -q ${job?.queue})`;
    case "busy":
      return `waits: all processors of ${queue} are busy`;
    case "no-handler":
      return `will fail: no process that takes ${queue} has a handler for class "${blankControls(job?.class ?? "")}"`;
  }
}

/** JSON where it is JSON, else text. */
function parseArgument(text: string): unknown {
  try {
    return parseLossless(text);
  } catch {
    return text;
  }
}

function parseArgs(text: string): unknown[] {
  let args: unknown;
  try {
    args = parseLossless(text);
  } catch (error) {
    throw new UsageError(
      `--args is "${text}"; wanted: a JSON array, such as '["bob", 5]' (${(error as Error).message})`,
    );
  }
  if (!Array.isArray(args)) throw new UsageError(`--args is "${text}"; wanted: a JSON array, such as '["bob", 5]'`);
  return args;
}
