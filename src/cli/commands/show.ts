/** `jobs show JID`. @module */
import { formatDuration } from "../../job/duration.ts";
import { type EndedJob, readEnded } from "../../job/result.ts";
import { stringifyLossless } from "../../job/json.ts";
import { decodeBacktrace, readCauses, readErrors, tryNumbers } from "../../job/failure.ts";
import { getField } from "../../job/raw.ts";
import type { Entry } from "../../store/admin/admin.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { asText } from "../../log/value.ts";
import { entryJson, errorText, payloadTime, readable, shownClass, stateOf } from "../shared/job_rows.ts";
import { blankControls, print, printError, printJson } from "../terminal/output.ts";
import { withStore } from "../shared/store.ts";
import { systemClock } from "../../clock.ts";
import { readSteps, stepLine } from "../shared/steps.ts";
import { stepJson } from "../../text/steps.ts";
import { isoTime, relative } from "../../text/times.ts";
import { whyNotRunning } from "../../text/why_waiting.ts";
import type { Store } from "../../store/admin/store.ts";
import type { RunningJobRecord } from "../../store/port/workers.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs show JID [--json]

Shows one job: where it is, since when or until when, why it is not running, its position in its queue, its arguments,
what it last said and logged, the stack of its last failure where it keeps one (backtrace), what each of its last ten tries
failed with; and, while it is known, how it ended and with what result. Exit 1 when the store does not know it (it left
nothing, was deleted, or was never there).`;

/** Jobs that are taken before one are counted so far. */
const FAR = 10_000;

/** Shows one job. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [jid, ...more] } = parseCommand("show", argv, COMMON_FLAGS);
  if (jid === undefined || more.length > 0) throw new UsageError("One JID is wanted: jobs show JID");
  return await withStore(flags, async (store) => {
    const lines = flags.json ? await jobJson(store, jid) : await jobLines(store, jid);
    if (lines === undefined) {
      printError(`jobs: ${unknownText(jid)}`);
      return 1;
    }
    if (Array.isArray(lines)) print(lines.join("\n"));
    else printJson(lines.json);
    return 0;
  });
}

/** A job for programs; undefined when the store does not know it. */
async function jobJson(store: Store, jid: string): Promise<{ json: unknown } | undefined> {
  const entries = await store.admin.find([jid]);
  if (entries.length === 0) {
    const record = await store.results.get(jid);
    return record === undefined ? undefined : { json: readEnded(record) };
  }
  const said = await whatEntriesSay(store, jid, entries);
  const positions = await Promise.all(entries.map(({ ref }) => positionOf(store, ref)));
  const why = await reasonsOf(store, entries);
  const found = (await readSteps(store, jid)).map(stepJson);
  const steps = found.length === 0 ? undefined : found;
  const json = entries.map((entry, i) => ({
    ...entryJson(entry),
    why: why[i],
    position: positions[i],
    ...said,
    steps,
  }));
  return { json: json.length === 1 ? json[0] : json };
}

/** A job for people, line by line, wherever it is or however it ended; undefined when the store does not know it. */
export async function jobLines(store: Store, jid: string): Promise<string[] | undefined> {
  const entries = await store.admin.find([jid]);
  if (entries.length === 0) {
    const record = await store.results.get(jid);
    return record === undefined ? undefined : describeEnded(readEnded(record));
  }
  const said = await whatEntriesSay(store, jid, entries);
  const why = await reasonsOf(store, entries);
  const steps = lineRows("steps", (await readSteps(store, jid)).map(stepLine));
  const shown = await Promise.all(
    entries.map(async (entry, i) => [
      ...describe(entry, said, why[i]!, await positionOf(store, entry.ref)),
      ...format(steps),
    ]),
  );
  return shown.flatMap((lines, i) => i === 0 ? lines : ["", ...lines]);
}

/** What is said of a job that the store does not know. */
export function unknownText(jid: string): string {
  return `no job "${jid}" here: it is done and left nothing, was deleted, or is in another store`;
}

type Said = Pick<RunningJobRecord, "progress" | "lastLine" | "log">;

async function whatEntriesSay(store: Store, jid: string, entries: readonly Entry[]): Promise<Said | undefined> {
  return entries.some((entry) => entry.owner !== undefined) ? await whatItSays(store, jid) : undefined;
}

/** What a running job last said; as old as its process's last heartbeat. */
async function whatItSays(store: Store, jid: string): Promise<Said | undefined> {
  const work = (await store.workers.list()).flatMap((process) => process.work);
  const { progress, lastLine, log } = work.find(({ payload }) => getField(payload, "jid") === jid) ?? {};
  return {
    ...(progress !== undefined && { progress }),
    ...(lastLine !== undefined && { lastLine }),
    ...(log !== undefined && { log }),
  };
}

/** Of each, why it is not running. */
async function reasonsOf(store: Store, entries: readonly Entry[]): Promise<(readonly string[])[]> {
  const [{ queues }, processes] = await Promise.all([store.admin.stats(), store.workers.list()]);
  return entries.map((entry) => whyNotRunning(entry, { queues, processes, now: systemClock.now() }));
}

/** 1 for the job that is taken next; where it is far from that, only that it is; undefined when it is in no queue. */
async function positionOf(store: Store, ref: string): Promise<number | string | undefined> {
  const before = await store.admin.position(ref, FAR);
  if (before === undefined) return undefined;
  return before < FAR ? before + 1 : `more than ${FAR}`;
}

function describe(
  entry: Entry,
  said: Said | undefined,
  why: readonly string[],
  position: number | string | undefined,
): string[] {
  const payload = readable(entry);
  if (payload === undefined) return [`(unreadable) ${blankControls(entry.payload)}`];
  const when = entry.at === undefined ? "" : ` ${relative(entry.at, systemClock.now())} (${isoTime(entry.at)})`;
  const where = entry.place.in === "queue" ? `queue ${entry.place.queue}` : `${stateOf(entry)}${when}`;
  const rows: [string, unknown][] = [
    ["jid", payload.jid],
    ["class", shownClass(payload)],
    ["args", stringifyLossless(payload.args)],
    ["state", entry.owner === undefined ? where : `${where} at ${entry.owner}`],
    ...lineRows("why", why),
    ["progress", said?.progress],
    ["last line", said?.lastLine],
    ["position", position && `${position} in its queue`],
    ["queue", payload.queue],
    ["created", payloadTime(payload.created_at)],
    ["enqueued", payloadTime(payload.enqueued_at)],
    ["retry", payload.retry],
    ["tags", Array.isArray(payload.tags) ? payload.tags.map(asText).join(", ") : payload.tags],
    ["failures", failuresOf(payload.retry_count, payload.errors)],
    ["failed", payloadTime(payload.failed_at)],
    ["retried", payloadTime(payload.retried_at)],
    ["error", payload.error_class === undefined ? undefined : errorText(payload)],
    ...lineRows("causes", readCauses(payload.error_causes)),
    ...lineRows("stack", decodeBacktrace(payload["error_backtrace"])),
    ...errorRows(payload.errors, payload.retry_count),
    ["rescues", payload.rescues],
    ["suspected", payload.suspected],
    ...lineRows("log", said?.log),
  ];
  return format(rows);
}

function describeEnded(ended: EndedJob): string[] {
  const { error, payload } = ended;
  const when = `${relative(ended.ended_at, systemClock.now())} (${isoTime(ended.ended_at)})`;
  return format([
    ["jid", ended.jid],
    ["class", ended.class],
    ["args", payload && stringifyLossless(payload.args)],
    ["state", `${ended.state} ${when}`],
    ["took", ended.elapsed_ms === undefined ? undefined : formatDuration(ended.elapsed_ms)],
    ["attempt", ended.attempt],
    ["process", ended.process],
    ["queue", ended.queue],
    ["progress", ended.progress],
    ["last line", ended.last_line],
    ["error", error && `${error.class}: ${error.message}`],
    ...lineRows("causes", readCauses(error?.causes)),
    ...lineRows("stack", error?.stack),
    ...errorRows(payload?.["errors"], payload?.retry_count),
    ["result", ended.result_dropped ? `not kept: ${ended.result_dropped}` : stringifyLossless(ended.result)],
    ...lineRows("log", ended.log),
  ]);
}

/** How often it has failed; a retry by hand begins to count anew, and its history goes on. */
function failuresOf(retryCount: unknown, errors: unknown): string | undefined {
  if (typeof retryCount !== "number") return undefined;
  const all = tryNumbers(readErrors(errors), retryCount + 1).at(-1) ?? 0;
  return all > retryCount + 1 ? `${retryCount + 1} since it was retried by hand, ${all} in all` : `${retryCount + 1}`;
}

/** What the tries failed with, the earliest first, each by its number. */
function errorRows(errors: unknown, retryCount: unknown): [string, unknown][] {
  const found = readErrors(errors);
  const numbers = tryNumbers(found, typeof retryCount === "number" ? retryCount + 1 : 0);
  return found.map(({ at, error_class, error_message, causes }, i) => [
    i === 0 ? "tries" : "",
    [`${numbers[i]}. ${payloadTime(at)} ${error_class}: ${error_message}`, ...readCauses(causes)].join("; "),
  ]);
}

function lineRows(name: string, lines: readonly string[] = []): [string, unknown][] {
  return lines.map((line, i) => [i === 0 ? name : "", line]);
}

function format(rows: readonly (readonly [string, unknown])[]): string[] {
  return rows.filter(([, value]) => value !== undefined).map(([name, value]) =>
    `${name.padEnd(9)} ${blankControls(asText(value))}`
  );
}
