/**
 * Jobs as JSON for programs, the same wherever they are printed: camelCase names, times as ISO 8601 in UTC.
 *
 * @module
 */
import { attemptOf, parsePayload, type Payload } from "../job/job.ts";
import { stringifyLossless } from "../job/json.ts";
import { readWireTime } from "../job/raw.ts";
import { decodeBacktrace } from "../job/failure.ts";
import type { Entry, Place } from "../store/port/entries.ts";
import type { jobShape } from "../operator/shapes/jobs.ts";
import type { JsonOf } from "../operator/shapes/shape.ts";
import { asText } from "../log/value.ts";
import { STATE_BY_PLACE } from "./jobs.ts";
import { isoTime } from "./times.ts";

/** The name of an entry's time, by place. */
const TIMES: Readonly<Record<Place["in"], string>> = {
  queue: "enqueuedAt",
  scheduled: "dueAt",
  retry: "dueAt",
  dead: "diedAt",
  running: "startedAt",
};

/** The parts of an entry that come from its payload; masked in the dashboard. */
export interface ShownPayload {
  /** Undefined if it can't be read. */
  readonly payload: Payload | undefined;
  readonly class: string | undefined;
  /** The stack trace of the last failure, if it was kept. */
  readonly backtrace: readonly string[] | undefined;
  /** The last lines that a failed program printed. */
  readonly output: readonly string[] | undefined;
}

/** Returns an entry as JSON. */
export function jobJson(entry: Entry): JsonOf<typeof jobShape> {
  const payload = readablePayload(entry);
  return shownJobJson(entry, {
    payload,
    class: payload && shownClass(payload, entry.payload),
    backtrace: decodeBacktrace(payload?.error_backtrace),
    output: decodeBacktrace(payload?.error_output),
  });
}

/** Returns an entry as JSON, with what is shown of its payload. */
export function shownJobJson(
  entry: Entry,
  { payload, class: name, backtrace, output }: ShownPayload,
): JsonOf<typeof jobShape> {
  const { in: place } = entry.place;
  return {
    jid: payload?.jid,
    class: name,
    state: STATE_BY_PLACE[place],
    queue: entry.place.in === "queue" ? entry.place.queue : payload?.queue,
    createdAt: payloadTime(payload?.created_at),
    enqueuedAt: payloadTime(payload?.enqueued_at),
    ...(entry.at !== undefined && { [TIMES[place]]: isoTime(entry.at) }),
    worker: entry.worker,
    cancelled: entry.cancelled,
    failures: payload && attemptOf(payload) - 1,
    error: payload?.error_class === undefined ? undefined : {
      class: asText(payload.error_class),
      message: asText(payload.error_message),
      backtrace,
      output,
    },
    payload: payload === undefined ? entry.payload : withoutOutput(payload),
  };
}

/** Returns a payload without its packed output, which is shown unpacked. */
function withoutOutput({ error_output: _packed, ...payload }: Payload): Record<string, unknown> {
  return payload;
}

/** A shorter payload isn't nested deeply enough to overflow the stack. */
const SHORT_CHARS = 2_000;

/** Returns the payload; undefined if it isn't a job, or is nested too deeply to be written again. */
export function readablePayload(entry: Pick<Entry, "payload">): Payload | undefined {
  const payload = parsePayload(entry.payload)?.payload;
  if (entry.payload.length < SHORT_CHARS) return payload;
  try {
    stringifyLossless(payload);
    return payload;
  } catch {
    return undefined;
  }
}

/** Returns the class that users know: `display_class`, else the wrapped class, else the class. */
export function shownClass(payload: Payload, raw?: string): string {
  if (typeof payload.display_class === "string" && payload.display_class !== "") return payload.display_class;
  if (typeof payload.wrapped === "string" && payload.wrapped !== "") return payload.wrapped;
  return (raw === undefined ? undefined : parsePayload(raw)?.class) ?? payload.class;
}

/** Returns a time of a payload as ISO 8601. */
export function payloadTime(value: unknown): string | undefined {
  return isoTime(readWireTime(value));
}
