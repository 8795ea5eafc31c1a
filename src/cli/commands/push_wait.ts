/**
 * `jobs push --wait`: waits until the job has finished, `--wait-timeout` has passed, or Ctrl-C.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import type { Client } from "../../client/client.ts";
import { systemClock } from "../../clock.ts";
import type { Settings } from "../../config/settings.ts";
import { boundOf, parseDuration } from "../../job/duration.ts";
import type { EndedJob } from "../../job/result.ts";
import { stringifyLossless } from "../../job/json.ts";
import { parsePayload } from "../../job/job.ts";
import { retentionMs } from "../../job/time.ts";
import type { Entry } from "../../store/port/entries.ts";
import { StoreError } from "../../store/port/errors.ts";
import { untilStopped } from "../../server/control/signals.ts";
import { asText } from "../../log/value.ts";
import { finishedJson, finishedState } from "../../text/finished.ts";
import { Mask } from "../../text/mask.ts";
import { relative } from "../../text/times.ts";
import { stateOfPlace } from "../../operator/actions/places.ts";
import { Interrupted, UsageError } from "../terminal/errors.ts";
import { print, printError, printJson } from "../terminal/output.ts";

/** A record is kept at least this long: the client must be able to read it. */
const MIN_RECORD_MS = 60_000;
/** How often the job is looked up for failed attempts. */
const ATTEMPT_INTERVAL_MS = 500;
/** A lookup that takes long is repeated after this many times as long. */
const SHARE = 20;

/**
 * Returns how long to keep the record of the job: as its class sets, or the default, whichever is longer. The push sets these
 * options, because a job that returns nothing may have no record otherwise.
 */
export async function recordTtls(
  client: Client,
  className: string,
  settings: Settings,
): Promise<{ result_ttl?: number; failure_ttl?: number }> {
  const options = await client.optionsOf(className);
  const ttl = (field: "result_ttl" | "failure_ttl", defaultMs: number) => {
    const ms = Math.max(retentionMs(options[field]) ?? 0, defaultMs, MIN_RECORD_MS);
    return ms === Infinity ? {} : { [field]: ms / 1_000 };
  };
  return { ...ttl("result_ttl", settings.resultTtlMs), ...ttl("failure_ttl", settings.failureTtlMs) };
}

/**
 * Parses `--wait-timeout`.
 *
 * @returns milliseconds; undefined if it isn't given
 * @throws {UsageError}
 */
export function parseWaitTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    const ms = parseDuration(text);
    if (ms > 0) return ms;
  } catch {
    // Reported below.
  }
  throw new UsageError(
    `Invalid --wait-timeout "${text}": expected seconds, or a time such as 30s, 5m or 2h${boundOf(text)}`,
  );
}

/**
 * Waits, and prints the result.
 *
 * @param begin prints warnings about the push; called once Ctrl-C is handled
 * @param timeoutMs undefined to wait without limit
 * @returns the exit code: 0 if the job succeeded
 * @throws {Interrupted} on Ctrl-C; the job continues
 */
export async function waitFor(
  jid: string,
  { store, client, begin, timeoutMs, json, maxRetries }: {
    readonly store: Store;
    readonly client: Client;
    readonly begin: () => Promise<void>;
    readonly timeoutMs: number | undefined;
    readonly json: boolean;
    /** The setting: attempts of a job that sets none itself. */
    readonly maxRetries: number;
  },
): Promise<number> {
  using stopped = untilStopped();
  await begin();
  const timeout = new AbortController();
  const signal = AbortSignal.any([stopped.signal, timeout.signal]);
  if (timeoutMs !== undefined) void systemClock.sleep(timeoutMs, signal).then(() => timeout.abort());
  using _attempts = reportAttempts(jid, store, maxRetries);
  const ended = await client.result(jid, { signal }).catch((error) => {
    throw enqueuedAnyway(jid, error);
  });
  timeout.abort();
  if (ended !== undefined) return printEnded(ended, json);
  if (stopped.signal.aborted) throw new Interrupted(`Interrupted: job ${jid} continues (jobs show ${jid})`);
  const [entry] = await store.jobs.find([jid]).catch((error) => {
    throw enqueuedAnyway(jid, error);
  });
  printError(
    entry === undefined
      ? `jobs: Job "${jid}" left no record: it was deleted, or a worker of Sidekiq runs it`
      : `jobs: Job "${jid}" is still ${
        stateOfPlace(entry.place)
      } after --wait-timeout, and continues (jobs show ${jid})`,
  );
  return 1;
}

/** Returns the error of a store that fails after the push, with the job: a push that is repeated runs it twice. */
function enqueuedAnyway(jid: string, error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const { code, message } = error;
  return new StoreError(code, `${message}; job ${jid} is enqueued (jobs show ${jid})`, { cause: error });
}

/** Prints each failed attempt on stderr, until it is disposed of. Attempts that fail within a pause share a line. */
function reportAttempts(jid: string, { jobs }: Pick<Store, "jobs">, maxRetries: number): Disposable {
  const stop = new AbortController();
  const report = async () => {
    let reported = 0;
    let pauseMs = ATTEMPT_INTERVAL_MS;
    for (;;) {
      await systemClock.sleep(pauseMs, stop.signal);
      if (stop.signal.aborted) return;
      const began = systemClock.monotonic();
      // The wait for the result reports a store that is down.
      const [entry] = await jobs.find([jid]).catch(() => []);
      pauseMs = Math.max(ATTEMPT_INTERVAL_MS, SHARE * (systemClock.monotonic() - began));
      const failed = entry && failedAttempt(entry, systemClock.now(), maxRetries);
      if (stop.signal.aborted || failed === undefined || failed.attempt <= reported) continue;
      reported = failed.attempt;
      printError(`jobs: ${failed.text}`);
    }
  };
  void report();
  return { [Symbol.dispose]: () => stop.abort() };
}

/** Returns the last failure of a job that will run again: `failed attempt 1 of 5, retry in 20s: Error: no route`. */
export function failedAttempt(
  { payload: raw, place, at }: Entry,
  now: number,
  maxRetries: number,
): { readonly attempt: number; readonly text: string } | undefined {
  const { payload } = parsePayload(raw) ?? {};
  const count = payload?.retry_count;
  if (typeof count !== "number" || payload?.error_class === undefined || place.in === "dead") return undefined;
  const { retry, retry_for: span } = payload;
  const total = span === undefined ? ` of ${(typeof retry === "number" ? retry : maxRetries) + 1}` : "";
  const next = place.in === "retry" ? `, retry ${relative(at, now)}` : "";
  const error = new Mask([], true).text(`${asText(payload.error_class)}: ${asText(payload.error_message)}`);
  return { attempt: count + 1, text: `failed attempt ${count + 1}${total}${next}: ${error}` };
}

function printEnded(ended: EndedJob, json: boolean): number {
  if (json) printJson(finishedJson(ended));
  else if (ended.state !== "succeeded") {
    const why = ended.error && `: ${ended.error.class}: ${ended.error.message}`;
    printError(`jobs: ${finishedState(ended)}${why ?? ""}`);
  } else if (ended.resultDropped) {
    printError(`jobs: succeeded; the result wasn't kept: ${asText(ended.resultDropped)}`);
  } else if (ended.result !== undefined) print(stringifyLossless(ended.result)!);
  return ended.state === "succeeded" ? 0 : 1;
}
