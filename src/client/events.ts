/**
 * Reads the log of events, for a client.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { type EventFilter, type JobEvent, wrongType } from "../job/event.ts";
import { InvalidPayload } from "../job/errors.ts";
import { followEvents } from "../store/ops/events.ts";
import type { ClientStore } from "./options.ts";

/** Options of {@linkcode Client.events}. */
export interface EventOptions extends EventFilter {
  /** Begins after the event with this ID. Default: the latest. 0: the oldest that is kept. */
  readonly after?: number;
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
}

/** Returns the events that pass the options. */
export function eventsOf(store: ClientStore, clock: Clock, options: EventOptions): AsyncGenerator<JobEvent, void> {
  const { events, watch } = store;
  if (events === undefined || watch === undefined) {
    throw new Error("Cannot read events here: an isolated job has no store");
  }
  const { after, signal, ...filter } = options;
  if (after !== undefined && !(Number.isSafeInteger(after) && after >= 0)) {
    throw new InvalidPayload("after", after, "the ID of an event");
  }
  for (const [name, value] of Object.entries(filter)) {
    const isList = Array.isArray(value) && value.every((one) => typeof one === "string");
    if (value !== undefined && !isList) throw new InvalidPayload(name, value, 'a list, such as ["Mail"]');
  }
  const wrong = wrongType(filter.type ?? []);
  if (wrong !== undefined) throw new InvalidPayload("type", filter.type, wrong.slice(wrong.indexOf(";") + 2));
  return iterate({ events, watch: watch.bind(store) }, { clock, after, filter, signal });
}

async function* iterate(
  store: Parameters<typeof followEvents>[0],
  { signal, ...options }: Omit<Parameters<typeof followEvents>[1], "signal"> & {
    readonly signal?: AbortSignal | undefined;
  },
): AsyncGenerator<JobEvent, void> {
  // A caller that leaves the loop ends the wait of the next page, too.
  const left = new AbortController();
  const stop = signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]);
  try {
    for await (const page of followEvents(store, { ...options, signal: stop })) {
      for (const event of page.events) {
        if (stop.aborted) return;
        yield event;
      }
    }
  } finally {
    left.abort();
  }
}
