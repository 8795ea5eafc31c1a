/**
 * `jobs push --wait`: until the job has ended, or the time of `--wait-timeout` is over, or Ctrl-C.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import { systemClock } from "../../clock.ts";
import type { Settings } from "../../config/settings.ts";
import { parseDuration } from "../../job/duration.ts";
import type { EndedJob } from "../../job/result.ts";
import { stringifyLossless } from "../../job/json.ts";
import { retentionMs } from "../../job/time.ts";
import { untilStopped } from "../../server/control/signals.ts";
import { asText } from "../../log/value.ts";
import { UsageError } from "../terminal/args.ts";
import { blankControls, escapeJson, print, printError, printJson } from "../terminal/output.ts";
import { Interrupted } from "../terminal/progress.ts";
import type { Store } from "../../store/admin/store.ts";

/** Whatever becomes of a job must be known for at least so long, for whoever waits to hear of it. */
const MIN_DURATION_MS = 60_000;

/**
 * How long the end of a job that is waited for is to be known: what its class says, or what is usual, whichever is longer.
 * Told with the push, so that it is known of a job too that returns nothing.
 */
export async function keptFor(
  client: Client,
  className: string,
  settings: Settings,
): Promise<{ result_ttl?: number; failure_ttl?: number }> {
  const options = await client.optionsOf(className);
  const ttl = (field: "result_ttl" | "failure_ttl", usualMs: number) => {
    const ms = Math.max(retentionMs(options[field]) ?? 0, usualMs, MIN_DURATION_MS);
    return ms === Infinity ? {} : { [field]: ms / 1_000 };
  };
  return { ...ttl("result_ttl", settings.resultTtlMs), ...ttl("failure_ttl", settings.failureTtlMs) };
}

/**
 * The time of `--wait-timeout`.
 *
 * @throws {UsageError} when it is none
 */
export function waitTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    const ms = parseDuration(text);
    if (ms > 0) return ms;
  } catch {
    // Said below.
  }
  throw new UsageError(`--wait-timeout is "${text}"; wanted: seconds, or a duration such as 30s, 5m or 2h`);
}

/**
 * Waits, and prints what came of it.
 *
 * @param begin says what is to be said first, once Ctrl-C is heard
 * @param limitMs absent: as long as it takes
 * @returns the exit code: 0 when the job is done
 * @throws {Interrupted} when somebody ends the waiting; the job goes on
 */
export async function waitFor(
  jid: string,
  { store, client, begin, limitMs, json }: {
    readonly store: Store;
    readonly client: Client;
    readonly begin: () => Promise<void>;
    readonly limitMs: number | undefined;
    readonly json: boolean;
  },
): Promise<number> {
  using stopped = untilStopped();
  await begin();
  const over = new AbortController();
  const signal = AbortSignal.any([stopped.signal, over.signal]);
  if (limitMs !== undefined) void systemClock.sleep(limitMs, signal).then(() => over.abort());
  const ended = await client.result(jid, { signal });
  over.abort();
  if (ended !== undefined) return printEnded(ended, json);
  if (stopped.signal.aborted) throw new Interrupted(`No longer waiting; ${jid} goes on (jobs show ${jid})`);
  const [entry] = await store.admin.find([jid]);
  printError(
    entry === undefined
      ? `jobs: ${jid} is gone, and nobody said how it ended: it was deleted, or a process of Sidekiq's has it`
      : `jobs: ${jid} is still ${STATES[entry.place.in]} after --wait-timeout, and goes on (jobs show ${jid})`,
  );
  return 1;
}

const STATES = {
  queue: "queued",
  scheduled: "scheduled",
  retry: "to be retried",
  dead: "dead",
  leased: "running",
} as const;

function printEnded(ended: EndedJob, json: boolean): number {
  if (json) printJson(ended);
  else if (ended.state !== "done") {
    const why = ended.error && `: ${ended.error.class}: ${ended.error.message}`;
    printError(`jobs: ${blankControls(asText(ended.state))}${blankControls(why ?? "")}`);
  } else if (ended.result_dropped) {
    printError(`jobs: done; the result was not kept: ${blankControls(asText(ended.result_dropped))}`);
  } else if (ended.result !== undefined) print(escapeJson(stringifyLossless(ended.result)!));
  return ended.state === "done" ? 0 : 1;
}
