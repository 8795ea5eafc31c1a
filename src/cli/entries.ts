/**
 * Jobs in the store, as commands show them: one row, or one JSON object with stable keys.
 *
 * @module
 */
import { decodeBacktrace } from "../job/backtrace.ts";
import { readWireTime } from "../job/raw.ts";
import { parsePayload, type Payload } from "../job/job.ts";
import type { Entry } from "../store/admin.ts";
import { plain } from "./output.ts";

/** The place in a word: `queue`, `scheduled`, `retry`, `dead`, `running`. */
export function placeName(entry: Entry): string {
  return entry.place.in === "leased" ? "running" : entry.place.in;
}

/** An entry as JSON, the same wherever it is shown. */
export function entryJson(entry: Entry): Record<string, unknown> {
  const payload = readable(entry);
  return {
    jid: payload?.jid,
    class: payload && shownClass(payload),
    place: placeName(entry),
    queue: entry.place.in === "queue" ? entry.place.queue : payload?.queue,
    at: entry.at === undefined ? undefined : new Date(entry.at).toISOString(),
    owner: entry.owner,
    backtrace: decodeBacktrace(payload?.["error_backtrace"]),
    payload: payload ?? entry.payload,
  };
}

/** The payload, or undefined when it is none. */
export function readable(entry: Entry): Payload | undefined {
  return parsePayload(entry.payload)?.payload;
}

/** The class as people know it. */
export function shownClass(payload: Payload): string {
  return String(payload.display_class ?? payload.wrapped ?? payload.class);
}

/** `HardJob("bob", 5)`. */
export function call(entry: Entry): string {
  const payload = readable(entry);
  return plain(
    payload === undefined ? `(unreadable) ${entry.payload}` : `${shownClass(payload)}(${argsText(payload)})`,
  );
}

/** `TypeError: no such account`: what a job failed with; empty where it did not. */
export function failure(entry: Entry): string {
  const payload = readable(entry);
  return payload?.error_class ? `${payload.error_class}: ${payload.error_message}` : "";
}

/** A time of the payload, as ISO 8601. */
export function payloadTime(value: unknown): string | undefined {
  const ms = readWireTime(value);
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

function argsText(payload: Payload): string {
  return payload.args.map((arg) =>
    JSON.stringify(arg, (_key, inner) => typeof inner === "bigint" ? String(inner) : inner)
  ).join(", ");
}
