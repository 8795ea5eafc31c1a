/**
 * Jobs as pages show them: parsed once, masked, cut to a length. A payload may contain anything, and may be hostile.
 *
 * @module
 */
import { decodeBacktrace } from "../../job/failure.ts";
import { attemptOf, parsePayload, type Payload } from "../../job/job.ts";
import { stringifyLossless } from "../../job/json.ts";
import { readWireTime } from "../../job/raw.ts";
import type { Entry } from "../../store/port/entries.ts";
import { MAX_PARSED_CHARS } from "../../operator/query/filter.ts";
import type { JobRow } from "../../text/jobs.ts";
import type { Mask } from "../../text/mask.ts";
import type { Services } from "../services.ts";
import { ListBudget } from "./list_budget.ts";
import type { RunningJobRecord } from "../../store/port/workers.ts";

/** The view of one job. */
export interface JobView extends JobRow {
  /** Identifies the entry for an action; empty for a running job. */
  readonly ref: string;
  /** The class for display: that of the wrapped job, if there is one. */
  readonly class: string;
  /** The arguments, in one line. */
  readonly args: string;
  readonly tags: readonly string[];
  /** When it last failed. */
  readonly failedAt?: number;
  /** Only of a running job. */
  readonly lastLine?: string;
  /** The last lines logged, `lastLine` included. */
  readonly log?: readonly string[];
  /** Masked; undefined if it cannot be parsed. */
  readonly payload?: Payload;
}

const MAX_NAME_CHARS = 300;
const MAX_ARGS_CHARS = 300;
const MAX_ERROR_CHARS = 400;
const MAX_TAGS = 20;
const MAX_LOG_LINES = 200;
const MAX_LINE_CHARS = 1_000;
const MAX_TAG_CHARS = 100;
/** `jobs show --json` prints longer documents whole. */
const MAX_DOCUMENT_CHARS = 200_000;
/** Documents up to this length are shown in one line. */
const LINE_CHARS = 80;

/** Returns the view of a job in the store. */
export function viewEntry(entry: Entry, mask: Mask): JobView {
  const queue = entry.place.in === "queue" ? entry.place.queue : "";
  return {
    ...show(entry.payload, mask, queue),
    ref: entry.ref,
    ...(entry.at === undefined ? {} : { at: entry.at }),
    ...(entry.worker === undefined ? {} : { worker: entry.worker }),
  };
}

/** Returns the views of jobs in the store, in slices. */
export async function viewEntries(
  entries: readonly Entry[],
  { slices, mask }: Pick<Services, "slices" | "mask">,
): Promise<JobView[]> {
  const budget = new ListBudget();
  return await slices.map(entries, { weigh: payloadLength, map: (entry) => viewEntry(budget.admit(entry), mask) });
}

/** Returns the characters of an entry's payload, which the time to process it is proportional to. */
export function payloadLength({ payload }: Entry): number {
  return payload.length;
}

/** Returns the view of a running job. */
export function viewRunning(job: RunningJobRecord, mask: Mask): JobView {
  return {
    ...show(job.payload, mask, job.queue),
    ref: "",
    at: job.since,
    ...(job.progress === undefined ? {} : { progress: cut(mask.text(job.progress), MAX_NAME_CHARS) }),
    ...(job.lastLine === undefined ? {} : { lastLine: cut(mask.text(job.lastLine), MAX_LINE_CHARS) }),
    ...(job.log === undefined ? {} : { log: lastLines(job.log).map((line) => mask.text(line)) }),
  };
}

function show(raw: string, mask: Mask, queue: string): JobView {
  const job = raw.length > MAX_PARSED_CHARS ? undefined : parsePayload(raw);
  if (job === undefined) {
    const name = raw.length > MAX_PARSED_CHARS ? "(too large to be shown)" : "(unreadable)";
    const args = cut(mask.json(raw), MAX_ARGS_CHARS);
    return { jid: "", ref: "", class: name, queue, args, call: `${name} ${args}`, ...NOTHING };
  }
  const payload = mask.payload(job.payload);
  const times = {
    enqueuedAt: readWireTime(payload.enqueued_at),
    createdAt: readWireTime(payload.created_at),
    failedAt: readWireTime(payload.retried_at) ?? readWireTime(payload.failed_at),
  };
  const name = cut(text(payload.display_class) || mask.text(job.class), MAX_NAME_CHARS);
  const args = argsLine(payload.args);
  return {
    jid: job.jid,
    ref: "",
    class: name,
    args,
    call: `${name}(${args})`,
    queue: queue || text(payload.queue) || "default",
    tags: (Array.isArray(payload.tags) ? payload.tags : []).filter((tag) => typeof tag === "string")
      .slice(0, MAX_TAGS).map((tag) => cut(tag, MAX_TAG_CHARS)),
    error: payload.error_class === undefined
      ? ""
      : cut(`${text(payload.error_class)}: ${text(payload.error_message)}`, MAX_ERROR_CHARS),
    failures: attemptOf(payload) - 1,
    ...Object.fromEntries(Object.entries(times).filter(([, at]) => at !== undefined)),
    payload,
  };
}

/** Returns the last lines of a log, each cut: workers keep 20 lines of 500 bytes, other writers anything. */
export function lastLines(log: readonly unknown[]): string[] {
  return log.slice(-MAX_LOG_LINES).filter((line) => typeof line === "string").map((line) => cut(line, MAX_LINE_CHARS));
}

const NOTHING = { tags: [], error: "", failures: 0 };

/** Returns the stack trace of the last failure; undefined if it was not kept. */
export function backtraceOf(payload: Payload, mask: Mask): readonly string[] | undefined {
  return decodeBacktrace(payload.error_backtrace)?.slice(0, 500).map((line) => mask.text(line));
}

/** Returns the last lines that a failed program printed; undefined if that wasn't kept. */
export function outputOf(payload: Payload, mask: Mask): readonly string[] | undefined {
  return decodeBacktrace(payload.error_output)?.map((line) => mask.text(line));
}

/** Formats a value as a document: in one line if it is short, indented otherwise. */
export function document(value: unknown): string {
  return cut(wholeDocument(value), MAX_DOCUMENT_CHARS);
}

/**
 * Returns a payload's arguments as a document that can be edited: what is masked in it can be put back.
 *
 * @returns undefined if they are too large to be shown completely
 */
export function editableArgs({ args, encrypt }: Payload, mask: Mask): string | undefined {
  if (!mask.showsWhole(args)) return undefined;
  const whole = wholeDocument(mask.payload({ args, encrypt }).args);
  return whole.length > MAX_DOCUMENT_CHARS ? undefined : whole;
}

/** Returns arguments in one line, cut. */
export function argsLine(args: readonly unknown[]): string {
  let line = "";
  for (const [i, arg] of args.entries()) {
    if (line.length > MAX_ARGS_CHARS) break;
    line += (i > 0 ? ", " : "") + oneLine(arg);
  }
  return line.slice(0, MAX_ARGS_CHARS);
}

function wholeDocument(value: unknown): string {
  const line = oneLine(value);
  return line.length <= LINE_CHARS ? line : stringifyLossless(value, 2) ?? "null";
}

/** Returns a value if it is a string; the empty string otherwise. */
export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Cuts a text to a length; `…` marks the cut. */
export function cut(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
}

function oneLine(value: unknown): string {
  return stringifyLossless(value) ?? "null";
}
