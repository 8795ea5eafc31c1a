/**
 * Jobs in the store, as commands show them: one row, or one JSON object with stable keys.
 *
 * @module
 */
import { decodeBacktrace } from "../../job/failure.ts";
import { parsePayload, type Payload } from "../../job/job.ts";
import { stringifyLossless } from "../../job/json.ts";
import { readWireTime } from "../../job/raw.ts";
import { asText } from "../../log/value.ts";
import type { Entry } from "../../store/admin/admin.ts";
import { isoTime } from "../../text/times.ts";

/** The place in a word: `queue`, `scheduled`, `retry`, `dead`, `running`. */
export function stateOf(entry: Entry): string {
  return entry.place.in === "leased" ? "running" : entry.place.in;
}

/** An entry as JSON, the same wherever it is shown. */
export function entryJson(entry: Entry): Record<string, unknown> {
  const payload = readable(entry);
  return {
    jid: payload?.jid,
    class: payload && shownClass(payload),
    place: stateOf(entry),
    queue: entry.place.in === "queue" ? entry.place.queue : payload?.queue,
    at: isoTime(entry.at),
    owner: entry.owner,
    backtrace: decodeBacktrace(payload?.["error_backtrace"]),
    payload: payload ?? entry.payload,
  };
}

/** Texts below it are not nested too deeply. */
const SHORT = 2_000;

/** The payload, or undefined when it is none, or nested so deeply that it cannot be written again. */
export function readable(entry: Pick<Entry, "payload">): Payload | undefined {
  const payload = parsePayload(entry.payload)?.payload;
  if (entry.payload.length < SHORT) return payload;
  try {
    stringifyLossless(payload);
    return payload;
  } catch {
    return undefined;
  }
}

/** The class as people know it. */
export function shownClass(payload: Payload): string {
  for (const name of [payload.display_class, payload.wrapped]) {
    if (typeof name === "string" && name !== "") return name;
  }
  return payload.class;
}

/** `TypeError: no such account`, whatever stands in the fields. */
export function errorText({ error_class, error_message }: Pick<Payload, "error_class" | "error_message">): string {
  return `${asText(error_class)}: ${asText(error_message)}`;
}

/** A time of the payload, as ISO 8601. */
export function payloadTime(value: unknown): string | undefined {
  return isoTime(readWireTime(value));
}

/** Arguments as they stand in a call. */
export function argsText(args: readonly unknown[]): string {
  return args.map((arg) => stringifyLossless(arg)).join(", ");
}
