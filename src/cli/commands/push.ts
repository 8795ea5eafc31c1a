/** `jobs push CLASS [ARG …]`. @module */
import type { JobRequest } from "../../client/client.ts";
import { systemClock } from "../../clock.ts";
import type { Settings } from "../../config/settings.ts";
import { jsonArgs } from "../../job/json_args.ts";
import { PUSH_FLAGS } from "../../job/option_names.ts";
import { readMoment } from "../../job/time.ts";
import { knownJid, printedPush } from "../../text/pushes.ts";
import { localMinute, relative } from "../../text/times.ts";
import { argumentsText } from "../shared/arguments.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { OutputFailed, print, printError, printJson } from "../terminal/output.ts";
import { clientOf } from "../shared/client.ts";
import { optionFlags, optionFlagsHelp, requestOf } from "../shared/option_flags.ts";
import { afterPush, warnIfBlocked } from "../shared/blocked_warning.ts";
import { report } from "../shared/report.ts";
import { withStore } from "../shared/store.ts";
import { type ClientTracing, traced } from "../shared/tracing.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs push CLASS [ARG …] [OPTION …]
       jobs push [CLASS] --bulk FILE|- [OPTION …]

Enqueues a job and prints its jid. Options that aren't given come from the
class: workers register their handlers' options in the store. Each ARG that is
valid JSON is parsed, any other is a string. Put arguments that begin with a
dash after --. If the job is a duplicate (--unique-for), prints the jid of the
job that holds the lock. If it is throttled, prints the jid of an accepted job.

${optionFlagsHelp(PUSH_FLAGS)}
      --args JSON        the arguments as a JSON array, instead of ARG …
      --strict           reject a class that no worker has registered
      --wait             wait until it has finished and print its result; exit 1
                         unless it succeeded; prints failed attempts on stderr
      --wait-timeout TIME
                         stop waiting after this time, with exit 1
      --bulk FILE        push a job for each line of a file (- is stdin): an
                         array of arguments for CLASS, or an object with class,
                         args, queue, at …; prints the jids
      --on-error skip|stop
                         with --bulk, skip invalid lines (the default) or stop
                         at the first

Examples
  jobs push Greet bob
  jobs push ImportFile a.csv --in 5m -q low --unique-for 1h
  jobs push ImportFile --bulk files.ndjson --on-error stop`;

/** Enqueues jobs. */
export function run(argv: readonly string[]): Promise<number> {
  return traced((tracing) => push(argv, tracing));
}

async function push(argv: readonly string[], tracing: ClientTracing): Promise<number> {
  const { flags, args: [name, ...rest] } = parseCommand("push", argv, {
    ...COMMON_FLAGS,
    ...optionFlags(PUSH_FLAGS),
    args: { takes: "text" },
    strict: { takes: "switch" },
    wait: { takes: "switch" },
    "wait-timeout": { takes: "text" },
    bulk: { takes: "text" },
    "on-error": { takes: "text" },
  }, "[CLASS] [ARG …]");
  if (flags.args !== undefined && rest.length > 0) {
    throw new UsageError(`Arguments given twice: as --args and as "${rest[0]}"`);
  }
  const at = (flags as Readonly<Record<string, unknown>>)["at"];
  checkTimes(argv, rest[0], typeof at === "string" ? at : undefined);
  if (name !== undefined && /^https?:\/\//i.test(name)) {
    throw new UsageError(
      `A push can't name a URL: "${name}"; add it to "http" in the configuration, and push its class`,
    );
  }
  const request = withMoment(requestOf(name, flags));
  if (flags["wait-timeout"] !== undefined && !flags.wait) throw new UsageError("--wait-timeout needs --wait");
  const onError = flags["on-error"] ?? "skip";
  if (onError !== "skip" && onError !== "stop") {
    throw new UsageError(`Invalid --on-error "${onError}": expected skip or stop`);
  }
  if (flags.bulk !== undefined) {
    if (flags.wait) throw new UsageError("--wait waits for one job: it can't be used with --bulk");
    if (flags.args !== undefined || rest.length > 0) {
      throw new UsageError("--bulk reads arguments from the file: expected no ARG and no --args");
    }
    const file = flags.bulk;
    return await withStore(flags, async (store, settings) => {
      const { pushLines } = await import("./push_bulk.ts");
      const client = clientOf(store, { settings, tracing, strict: flags.strict }, "so only the push's options apply");
      const { code, stored } = await pushLines(client, file, request, { json: flags.json, onError });
      if (stored > 0) await afterPush(() => warnIfBlocked(store));
      return code;
    }, { make: "always" });
  }
  if (flags["on-error"] !== undefined) throw new UsageError("--on-error needs --bulk");
  if (name === undefined) throw new UsageError("Missing argument: CLASS. Usage: jobs push CLASS [ARG …]");
  const args = flags.args === undefined ? jsonArgs(argumentsText(rest)) : parseArgs(flags.args);
  return await withStore(flags, async (store, settings) => {
    const strict = flags.strict || isUnknownEndpoint(name, settings);
    const client = clientOf(store, { settings, tracing, strict }, "so only the push's options apply");
    const queueOf = async () => request.queue ?? String((await client.optionsOf(name))["queue"] ?? "default");
    const waited = flags.wait ? await import("./push_wait.ts") : undefined;
    const timeoutMs = waited?.parseWaitTimeout(flags["wait-timeout"]);
    const job = { ...request, ...await waited?.recordTtls(client, name, settings), class: name, args };
    const result = await client.tryPush(job as unknown as JobRequest);
    if (result.kind === "refused") throw new UsageError(result.refused);
    const jid = knownJid(result)!;
    const remark = () => {
      if (result.kind === "duplicate") printError(`jobs: duplicate: job "${jid}" holds the lock; nothing enqueued`);
      else if (result.refused !== undefined) printError(`jobs: ${result.refused}; nothing enqueued`);
      else if (result.kind === "replaced") printError(`jobs: replaced: job "${jid}" waited, and has the new arguments`);
      else if (request.at instanceof Date) printTime(request.at.getTime());
    };
    const warn = () => afterPush(async () => warnIfBlocked(store, [{ class: name, queue: await queueOf() }]));
    try {
      // A throttled push has no result: with --wait it fails. A duplicate has that of the job that holds the lock.
      if (waited !== undefined && result.kind !== "throttled") {
        const begin = () => report(remark, warn);
        return await waited.waitFor(jid, {
          store,
          client,
          begin,
          timeoutMs,
          json: flags.json,
          maxRetries: settings.maxRetries,
        });
      }
      const printResult = () => {
        if (flags.json) printJson(printedPush(result));
        else if (!flags.wait) print(jid);
      };
      await report(printResult, remark, ...(result.refused !== undefined ? [] : [warn]));
      return flags.wait ? 1 : 0;
    } catch (error) {
      if (!(error instanceof OutputFailed)) throw error;
      printError(`jobs: ${error.message}; the job is enqueued: ${jid}`);
      return 1;
    }
  }, { make: "always" });
}

/** Whether a class is `http:NAME`, and not in this machine's configuration: a worker must have registered it. */
function isUnknownEndpoint(name: string, { http }: Settings): boolean {
  return name.startsWith("http:") && !http.some((endpoint) => endpoint.class === name);
}

/** A unit in a separate argument after its number: `5 minutes`. */
const UNIT = /^(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$/i;
/** The year 1973: a smaller `--at` is probably a delay. */
const MIN_EPOCH_S = 1e8;
/** A larger number is in milliseconds. */
const MAX_EPOCH_S = 1e11;

/**
 * Rejects times that are probably mistakes: `--in 5 minutes` and `--at 5`.
 *
 * @throws {UsageError}
 */
function checkTimes(argv: readonly string[], first: string | undefined, at: string | undefined): void {
  for (const [i, arg] of argv.entries()) {
    const [, joined] = /^--in=(.*)$/s.exec(arg) ?? [];
    if (arg !== "--in" && joined === undefined) continue;
    const [value, next] = joined === undefined ? [argv[i + 1], argv[i + 2]] : [joined, argv[i + 1]];
    if (next === undefined || !/^\d+(\.\d+)?$/.test(value ?? "") || !UNIT.test(next) || next !== first) continue;
    throw new UsageError(
      `Invalid --in "${value} ${next}": expected one word such as ${oneWord(Number(value), next.toLowerCase())}`,
    );
  }
  if (at !== undefined && /^\d+(\.\d+)?$/.test(at) && Number(at) < MIN_EPOCH_S) {
    throw new UsageError(`Invalid --at "${at}": expected a time or epoch seconds; for a delay use --in ${at}`);
  }
}

/** Returns a number and a unit as a duration: `5m`, and `14d` for two weeks. */
function oneWord(value: number, unit: string): string {
  if (unit.startsWith("w")) return `${7 * value}d`;
  return `${value}${/^(ms|milli)/.test(unit) ? "ms" : unit[0]}`;
}

/** Returns the request with `at` as a Date: the time that is stored is the one that is printed. */
function withMoment(request: Partial<JobRequest>): Partial<JobRequest> {
  // A number is a time here: checkTimes rejects one that is probably a delay.
  const given = typeof request.at === "number"
    ? new Date(request.at * (request.at > MAX_EPOCH_S ? 1 : 1_000))
    : request.at;
  const { at } = readMoment(undefined, given);
  return at === undefined ? request : { ...request, at: new Date(at) };
}

/** Prints when the job runs, so that a user sees that a time without an offset is local. */
function printTime(at: number): void {
  const now = systemClock.now();
  const when = `${localMinute(at)} (${relative(at, now)})`;
  printError(at <= now ? `jobs: ${when} is past: the job runs now` : `jobs: scheduled for ${when}`);
}

function parseArgs(text: string): readonly unknown[] {
  try {
    return jsonArgs(text);
  } catch (error) {
    throw new UsageError(
      `Invalid --args "${text}": expected a JSON array such as '["bob", 5]' (${(error as Error).message})`,
    );
  }
}
