/** `jobs show JID`. @module */
import { asOf, ENDED_BY_RESCUE, isEndedByRescue } from "../../text/workers.ts";
import { endedProcesses } from "../../processes.ts";
import type { Store } from "../../store/admin/store.ts";
import { formatDuration } from "../../job/duration.ts";
import { stepsIn } from "../../job/kept_steps.ts";
import type { EndedJob } from "../../job/result.ts";
import { foldedText, stackParts } from "../../text/stack.ts";
import { stringifyLossless } from "../../job/json.ts";
import { isDuration, readCauses } from "../../job/failure.ts";
import { attemptOf, failureCount, type Payload } from "../../job/job.ts";
import { attemptNumbers, readErrors } from "../../job/past_errors.ts";
import { asideIn } from "../../job/aside.ts";
import { priorityIn } from "../../job/priority.ts";
import type { Entry, Place } from "../../store/port/entries.ts";

import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { NotFoundError } from "../terminal/errors.ts";
import { notFoundText } from "../../operator/actions/job_ids.ts";
import { finishedJson, finishedState } from "../../text/finished.ts";
import { payloadTime, shownClass, shownJobJson } from "../../text/job_json.ts";
import { readJobWaits } from "../../store/ops/job_waits.ts";
import { stoppingNodes, type WaitingNode, waitingNode } from "../../operator/query/waiting_nodes.ts";
import { waitingJson, waitText, whyStopped, whyWaiting } from "../../text/flows.ts";
import { asText } from "../../log/value.ts";
import { stateOfPlace } from "../../operator/actions/places.ts";
import { readMasked, type Report, reportOf, shownEntry } from "../shared/shown_job.ts";
import { rescuedText } from "../../text/crashes.ts";
import { errorText } from "../../text/job_text.ts";
import { blankControls, print, printJson } from "../terminal/output.ts";
import { withStore } from "../shared/store.ts";
import { systemClock } from "../../clock.ts";
import { readSteps, stepLine } from "../shared/steps.ts";
import { Mask } from "../../text/mask.ts";
import { stepJson } from "../../text/steps.ts";
import { isoTime, relative } from "../../text/times.ts";
import { readLastSettingsOf } from "../../operator/query/last_settings.ts";
import { whyNotRunning } from "../../text/why_waiting.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs show JID [--json]

Shows one job: its state, why it isn't running, its position in its queue, its
arguments, its progress and last log lines, its last ten failures with their
durations, the end of what a failed program printed, the stack trace of the
last failure if the job keeps it (backtrace), and, while its record is kept, how
it ended, its stack, log, result and durable steps. Values of fields such as
password and those of web.mask are hidden. Exit 1 if the job isn't found.

Examples
  jobs show 1a1fd5150c39f4ae2f200001
  jobs show 1a1fd5150c39f4ae2f200001 --json`;

/** Positions in a queue are counted up to this one. */
const MAX_POSITION = 10_000;

/** Shows one job. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("show", argv, COMMON_FLAGS, "JID");
  const jid = args[0]!;
  return await withStore(flags, async (store, { webMask }) => {
    const mask = new Mask(webMask, true);
    const shown = flags.json ? await jobJsonOf(store, jid, mask) : await jobLines(store, jid, mask);
    if (shown === undefined) throw new NotFoundError(notFoundText(jid, store.url));
    if (Array.isArray(shown)) print(shown.join("\n"));
    else printJson(shown.json);
    return 0;
  });
}

/** Returns a job as JSON; undefined if the store doesn't have it. */
async function jobJsonOf(store: Store, jid: string, mask: Mask): Promise<{ json: unknown } | undefined> {
  const entries = await store.jobs.find([jid]);
  if (entries.length === 0) {
    const ended = await readMasked(store, jid, mask);
    if (ended !== undefined) return { json: finishedJson(ended) };
    const waiting = await waitingNode(store, jid);
    if (waiting === undefined) return undefined;
    const why = [whyWaiting(waiting.node), ...whyStopped(await stoppingNodes(store, waiting))];
    return { json: { ...waitingJson(waiting), why } };
  }
  const reported = await reportOf(store, jid, entries, mask);
  const positions = await Promise.all(entries.map(({ ref }) => positionOf(store, ref)));
  const why = await reasonsOf(store, entries, mask);
  const found = (await readSteps(store, jid, mask)).map(stepJson);
  const steps = found.length === 0 ? undefined : found;
  const json = entries.map((entry, i) => ({
    ...entryJson(entry, reported, mask),
    why: why[i],
    position: positions[i],
    progress: reported?.progress,
    lastLine: reported?.lastLine,
    log: reported?.log,
    abortReason: reported?.abortReason,
    steps,
  }));
  return { json: json.length === 1 ? json[0] : { jobs: json } };
}

/** Describes a job in lines, with secrets masked; undefined if the store doesn't have it. */
export async function jobLines(
  store: Store,
  jid: string,
  mask: Mask = new Mask([], true),
): Promise<string[] | undefined> {
  const entries = await store.jobs.find([jid]);
  if (entries.length === 0) {
    const ended = await readMasked(store, jid, mask);
    if (ended !== undefined) return describeEnded(ended);
    const waiting = await waitingNode(store, jid);
    return waiting && format(waitingRows(waiting, whyStopped(await stoppingNodes(store, waiting))));
  }
  const reported = await reportOf(store, jid, entries, mask);
  const why = await reasonsOf(store, entries, mask);
  const steps = lineRows("steps", (await readSteps(store, jid, mask)).map(stepLine));
  const shown = await Promise.all(
    entries.map(async (entry, i) => [
      ...describe(entry, reported, why[i]!, await positionOf(store, entry.ref), mask),
      ...format(steps),
    ]),
  );
  return shown.flatMap((lines, i) => i === 0 ? lines : ["", ...lines]);
}

function entryJson(entry: Entry, reported: Report | undefined, mask: Mask): Record<string, unknown> {
  const { payload, stack, worker, output } = shownEntry(entry, reported, mask);
  const shown = shownJobJson(entry, {
    payload,
    class: payload && shownClass(payload, entry.payload),
    backtrace: stack,
    output,
  });
  return {
    ...shown,
    worker: entry.worker ?? worker,
    ...(payload === undefined && { payload: mask.json(entry.payload) }),
  };
}

/** Returns the rows that describe a waiting node. */
function waitingRows({ flow, node }: WaitingNode, why: readonly string[]): [string, unknown][] {
  return [
    ["jid", node.jid],
    ["class", node.class],
    ["state", `waiting for ${waitText(node)}`],
    ...lineRows("why", why),
    ["flow", `${flow}, node ${node.name}`],
    ["after", node.after.join(", ")],
    ["queue", node.queue],
  ];
}

/** Returns the batch of a job, or its flow and its node. */
function batchText({ batch, flow_node: node }: { readonly [field: string]: unknown }): string | undefined {
  return typeof batch !== "string" ? undefined : typeof node === "string" ? `${batch}, node ${node}` : batch;
}

/** Returns for each entry why it isn't running. */
async function reasonsOf(store: Store, entries: readonly Entry[], mask: Mask): Promise<(readonly string[])[]> {
  const [{ queues }, workers] = await Promise.all([store.admin.stats(), store.workers.list()]);
  const around = { queues, workers, now: systemClock.now(), processes: endedProcesses(workers) };
  return await Promise.all(
    entries.map(async (entry) => {
      const waits = await readJobWaits(store, entry, around);
      const set = await readLastSettingsOf(store, entry, waits, queues);
      const reasons = whyNotRunning(entry, { ...around, ...set, ...waits });
      return reasons.map((reason) => mask.text(reason));
    }),
  );
}

/** Returns 1 for the job that is fetched next; a text if it is far from that; undefined if it isn't queued. */
async function positionOf(store: Store, ref: string): Promise<number | string | undefined> {
  const [entry] = await store.admin.get([ref], { before: MAX_POSITION });
  const before = entry?.before;
  if (before === undefined) return undefined;
  return before < MAX_POSITION ? before + 1 : `more than ${MAX_POSITION}`;
}

function describe(
  entry: Entry,
  report: Report | undefined,
  why: readonly string[],
  position: number | string | undefined,
  mask: Mask,
): string[] {
  const { payload, stack, worker, output } = shownEntry(entry, report, mask);
  if (payload === undefined) return [`(unreadable) ${blankControls(mask.json(entry.payload))}`];
  const when = entry.at === undefined ? "" : ` ${whenText(entry.at)}`;
  const where = entry.place.in === "queue" ? queuedText(entry.place) : `${stateOfPlace(entry.place)}${when}`;
  const rows: [string, unknown][] = [
    ["jid", payload.jid],
    ["id", payload["id"]],
    ["class", shownClass(payload, entry.payload)],
    ["args", stringifyLossless(payload.args)],
    [
      "state",
      entry.worker === undefined ? where : isEndedByRescue(entry) ? ENDED_BY_RESCUE : `${where} on ${entry.worker}`,
    ],
    ["aborting", report?.abortReason && abortText(report.abortReason)],
    ...lineRows("why", why),
    ["progress", report?.progress],
    ["last line", report?.lastLine],
    ["reported", report?.reportedAt === undefined ? undefined : reportedText(report.reportedAt)],
    ["worker", entry.worker === undefined ? worker : undefined],
    ["position", position && `${position} in its ${placeName(entry.place)}`],
    ["queue", payload.queue],
    [payload["flow_node"] === undefined ? "batch" : "flow", batchText(payload)],
    ["group", payload.group],
    ["priority", payload.priority],
    ["created", payloadTime(payload.created_at)],
    ["enqueued", payloadTime(payload.enqueued_at)],
    ["retry", payload.retry],
    ["tags", Array.isArray(payload.tags) ? payload.tags.map(asText).join(", ") : payload.tags],
    ["failures", failuresOf(payload)],
    ["first", payloadTime(payload.failed_at)],
    ["last", payloadTime(payload.retried_at)],
    ["took", lastDuration(payload.errors)],
    ["error", payload.error_class === undefined ? undefined : errorText(payload)],
    ...lineRows("causes", readCauses(payload.error_causes)),
    ...stackRows(stack),
    ...errorRows(payload.errors, payload.retry_count),
    ["rescues", payload.rescues],
    ["suspected", payload.suspected],
    ["no handler", payloadTime(payload.no_handler_since)],
    ...lineRows("log", report?.log),
    ...lineRows("output", output),
  ];
  return format(rows);
}

function describeEnded(ended: EndedJob): string[] {
  const { error, payload } = ended;
  return format([
    ["jid", ended.jid],
    ["class", ended.class],
    ["args", payload && stringifyLossless(payload.args)],
    ["state", `${finishedState(ended)} ${whenText(ended.endedAt)}`],
    ["took", ended.elapsedMs === undefined ? undefined : formatDuration(ended.elapsedMs)],
    ["attempt", ended.attempt],
    // The deaths that have ended a job are in its error.
    ["rescued", error?.class === "WorkerDied" ? undefined : rescuedText(payload)],
    ["worker", ended.worker],
    ["queue", ended.queue],
    ["progress", ended.progress],
    ["last line", ended.lastLine],
    ["error", error && `${error.class}: ${error.message}`],
    ...lineRows("causes", readCauses(error?.causes)),
    ...stackRows(error?.stack),
    ...errorRows(payload?.["errors"], payload?.retry_count),
    ["result", ended.resultDropped ? `not kept: ${ended.resultDropped}` : stringifyLossless(ended.result)],
    ...lineRows("log", ended.log),
    ...lineRows("output", ended.output),
    ...lineRows("steps", stepsIn(ended).map(stepLine)),
  ]);
}

/** Returns `in 5m (2026-11-22T06:00:00.000Z)`; other programs write times that no calendar has. */
function whenText(at: number): string {
  const iso = isoTime(at);
  return iso === undefined ? "at an invalid time" : `${relative(at, systemClock.now())} (${iso})`;
}

/** Returns the number of failures. A retry by hand takes one off those that count against the retries. */
function failuresOf(payload: Payload): string | undefined {
  if (typeof payload.retry_count !== "number") return undefined;
  const [all, counted] = [attemptOf(payload) - 1, failureCount(payload)];
  return all > counted ? `${all}, of which ${counted} count against the retries` : `${all}`;
}

/** Returns the duration of the last failed attempt; undefined if it is unknown. */
function lastDuration(errors: unknown): string | undefined {
  const ms = readErrors(errors).at(-1)?.ms;
  return isDuration(ms) ? formatDuration(ms) : undefined;
}

/** Returns the reason why a job's signal has aborted, for a job that hasn't ended yet. */
function abortText(reason: string): string {
  const reasons: Readonly<Record<string, string>> = {
    Cancelled: "cancel requested",
    Timeout: "its timeout has passed",
    Shutdown: "its worker is stopping",
    LeaseLost: "its worker was offline, and it runs elsewhere",
  };
  return `${reasons[reason] ?? reason}; its handler hasn't ended`;
}

/** Returns how old the report of a running job is; undefined if it is current. */
function reportedText(at: number): string | undefined {
  const age = asOf([{ heartbeatAt: at }], systemClock.now());
  return age === "" ? undefined : `${relative(at, systemClock.now())}, by the last heartbeat of its worker`;
}

/** Returns a row for each recorded failure, the earliest first, with the number of its attempt. */
function errorRows(errors: unknown, retryCount: unknown): [string, unknown][] {
  const found = readErrors(errors);
  const numbers = attemptNumbers(found, typeof retryCount === "number" ? retryCount + 1 : 0);
  return found.map(({ at, error_class, error_message, causes, ms }, i) => [
    i === 0 ? "attempts" : "",
    [
      `${numbers[i]}. ${payloadTime(at)}${
        isDuration(ms) ? ` after ${formatDuration(ms)}` : ""
      } ${error_class}: ${error_message}`,
      ...readCauses(causes),
    ].join("; "),
  ]);
}

/** Returns the rows of a stack, each run of frames that don't belong to the handler in one. */
function stackRows(lines: readonly string[] = []): [string, unknown][] {
  return lineRows(
    "stack",
    stackParts(lines).flatMap((part) => part.isFolded ? [`… ${foldedText(part)} (--json has them)`] : part.lines),
  );
}

function lineRows(name: string, lines: readonly string[] = []): [string, unknown][] {
  return lines.map((line, i) => [i === 0 ? name : "", line]);
}

function format(rows: readonly (readonly [string, unknown])[]): string[] {
  return rows.filter(([, value]) => value !== undefined).map(([name, value]) =>
    `${name.padEnd(9)} ${blankControls(asText(value))}`
  );
}

/** Returns `queued in "exports", group "acme"`, or `queued in "exports", high priority`. */
function queuedText({ queue, group }: { readonly queue: string; readonly group?: string }): string {
  const aside = group === undefined ? undefined : asideIn(group);
  if (aside !== undefined) {
    return `${
      queuedText({ queue, ...(aside.group !== undefined && { group: aside.group }) })
    }, aside for class ${aside.class}`;
  }
  const priority = group === undefined ? undefined : priorityIn(group);
  const within = group === undefined ? "" : priority === undefined ? `, group "${group}"` : `, ${priority} priority`;
  return `queued in "${queue}"${within}`;
}

/** Returns among which jobs a queued job has its position. */
function placeName(place: Place): "queue" | "group" | "priority" | "class" {
  if (place.in !== "queue" || place.group === undefined) return "queue";
  if (asideIn(place.group) !== undefined) return "class";
  return priorityIn(place.group) === undefined ? "group" : "priority";
}
