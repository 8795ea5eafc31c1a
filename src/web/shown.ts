/**
 * Jobs as they are shown: parsed once, masked, cut to a length. A payload may be anything, and hostile.
 *
 * @module
 */
import { decodeBacktrace } from "../job/backtrace.ts";
import { failureCount, parsePayload, type Payload } from "../job/job.ts";
import { stringifyLossless } from "../job/json.ts";
import { readWireTime } from "../job/raw.ts";
import type { Entry } from "../store/admin.ts";
import type { RunningJob } from "../store/store.ts";
import type { Mask } from "./mask.ts";

/** One job, as a row shows it. */
export interface ShownJob {
  /** Empty when it has none. */
  readonly jid: string;
  /** Names it for an action; empty for one that runs. */
  readonly ref: string;
  /** As people know it. */
  readonly class: string;
  readonly queue: string;
  /** The arguments, in one line. */
  readonly args: string;
  readonly tags: readonly string[];
  /** `Class: message`; empty when it has not failed. */
  readonly error: string;
  readonly failures: number;
  readonly at?: number;
  readonly enqueuedAt?: number;
  readonly createdAt?: number;
  /** What a running one last said of itself. */
  readonly progress?: string;
  readonly lastLine?: string;
  /** The last lines it logged, that one included. */
  readonly log?: readonly string[];
  /** Masked; undefined when it cannot be read. */
  readonly payload?: Payload;
}

/** A row's texts are cut here. */
const MOST_ARGS = 300;
const MOST_ERROR = 400;
/** A payload's document is cut here: megabytes are for `jobs show --json`. */
const MOST_DOCUMENT = 200_000;
const SHORT = 80;

/** A job in the store. */
export function showEntry(entry: Entry, mask: Mask): ShownJob {
  const queue = entry.place.in === "queue" ? entry.place.queue : "";
  return { ...show(entry.payload, mask, queue), ref: entry.ref, ...(entry.at === undefined ? {} : { at: entry.at }) };
}

/** A job that a process performs. */
export function showRunning(job: RunningJob, mask: Mask): ShownJob {
  return {
    ...show(job.payload, mask, job.queue),
    ref: "",
    at: job.since,
    ...(job.progress === undefined ? {} : { progress: mask.text(job.progress) }),
    ...(job.lastLine === undefined ? {} : { lastLine: mask.text(job.lastLine) }),
    ...(job.log === undefined ? {} : { log: job.log.map((line) => mask.text(line)) }),
  };
}

function show(raw: string, mask: Mask, queue: string): ShownJob {
  const job = parsePayload(raw);
  if (job === undefined) {
    return { jid: "", ref: "", class: "(unreadable)", queue, args: cut(mask.text(raw), MOST_ARGS), ...NOTHING };
  }
  const payload = mask.payload(job.payload);
  const times = {
    enqueuedAt: readWireTime(payload.enqueued_at),
    createdAt: readWireTime(payload.created_at),
  };
  return {
    jid: job.jid,
    ref: "",
    class: text(payload.display_class) || job.class,
    queue: queue || text(payload.queue) || "default",
    args: payload.args.map((arg) => oneLine(arg)).join(", ").slice(0, MOST_ARGS),
    tags: Array.isArray(payload.tags) ? payload.tags.filter((tag) => typeof tag === "string").slice(0, 20) : [],
    error: payload.error_class === undefined
      ? ""
      : cut(`${text(payload.error_class)}: ${text(payload.error_message)}`, MOST_ERROR),
    failures: failureCount(payload),
    ...Object.fromEntries(Object.entries(times).filter(([, at]) => at !== undefined)),
    payload,
  };
}

const NOTHING = { tags: [], error: "", failures: 0 };

/** The lines of the last failure's stack, if it was kept. */
export function backtraceOf(payload: Payload, mask: Mask): readonly string[] {
  return (decodeBacktrace(payload.error_backtrace) ?? []).slice(0, 500).map((line) => mask.text(line));
}

/** A value as a document: in one line when it is short, else indented. */
export function document(value: unknown): string {
  const line = oneLine(value);
  if (line.length <= SHORT) return line;
  return cut(JSON.stringify(JSON.parse(line, keepNumbers as Reviver), undefined, 2), MOST_DOCUMENT);
}

/** A text, if it is one. */
export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Cut to a length, with a sign where it was. */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

function oneLine(value: unknown): string {
  return stringifyLossless(value) ?? "null";
}

type Reviver = (key: string, value: unknown) => unknown;
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown };

/** Numbers stay as they are written. */
function keepNumbers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === "number" && context?.source !== undefined ? rawJson(context.source) : value;
}
