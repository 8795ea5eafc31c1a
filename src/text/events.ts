/**
 * Events for programs and for people.
 *
 * @module
 */
import type { JobEvent } from "../job/event.ts";
import type { eventShape } from "../operator/shapes/events.ts";
import type { JsonOf } from "../operator/shapes/shape.ts";
import type { Mask } from "./mask.ts";
import { isoTime } from "./times.ts";

/** Returns an event as JSON, with secrets masked. */
export function eventJson({ at, since, error, ...event }: JobEvent, mask: Mask): JsonOf<typeof eventShape> {
  return {
    ...event,
    at: isoTime(at)!,
    ...(error && { error: { class: error.class, message: mask.text(error.message) } }),
    ...(since !== undefined && { since: isoTime(since) }),
  } as JsonOf<typeof eventShape>;
}

/** Returns an event as a line. */
export function eventLine(event: JobEvent, mask: Mask): string {
  const { type, at, jid, class: name, queue, batch, state, error, entry, count, worker, after, since } = event;
  const about = type === "gap"
    ? since === undefined
      ? `the events after ${after} are no longer kept`
      : `nothing was recorded since ${isoTime(since)}`
    : [
      ...entry === undefined ? [name, jid] : [entry, `${count} run${count === 1 ? "" : "s"}`],
      ...[event.name ?? (jid === undefined ? batch : undefined), state, worker],
      queue !== undefined && queue !== "default" && `in ${queue}`,
      error && `${error.class}: ${mask.text(error.message)}`,
    ].filter(Boolean).join(" ");
  return `${isoTime(at)} ${type.padEnd(10)} ${about}`;
}
