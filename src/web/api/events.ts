/**
 * The API's route of the log of events: as server-sent events for a client that accepts them, else a page.
 *
 * @module
 */
import type { Context } from "hono";
import { type EventFilter, wrongType } from "../../job/event.ts";
import { eventPageShape } from "../../operator/shapes/events.ts";
import { schemaOf } from "../../operator/shapes/shape.ts";
import { followEvents, READER_KEEP_MS, readEvents } from "../../store/ops/events.ts";
import { eventJson } from "../../text/events.ts";
import { HttpError } from "../http/body.ts";
import { eventText } from "../http/event_streams.ts";
import { MAX_PAGE_EVENTS } from "../../store/port/events.ts";
import type { Services, WebEnv } from "../services.ts";
import type { ApiAnswer, ApiRoute } from "./route.ts";

const FILTERS = ["type", "class", "queue", "batch", "tag"] as const;

/** The route. */
export const eventsRoute: ApiRoute = {
  method: "GET",
  path: "/events",
  access: "read",
  waits: true,
  alsoStreams: true,
  about:
    "Returns events, oldest first, and records them for the next hour; with Accept: text/event-stream, an endless stream of single events",
  query: {
    after:
      "the ID of the last event that you have; default: the latest; 0: the oldest that is kept. Last-Event-ID has the same meaning",
    limit: `1 to ${MAX_PAGE_EVENTS}; default ${MAX_PAGE_EVENTS}`,
    type: "a type of events; may be repeated, like all filters",
    class: "a class of jobs, or a pattern such as Import*",
    queue: "a queue, or a pattern",
    batch: "the ID of a batch or flow",
    tag: "a tag",
  },
  shape: eventPageShape,
  answer: schemaOf(eventPageShape),
  run: respond,
};

async function respond(c: Context<WebEnv>, services: Services): Promise<ApiAnswer> {
  const { store, clock, eventStreams, mask } = services;
  const after = positionOf(c);
  const filter = filterOf(c);
  if (c.req.header("accept")?.includes("text/event-stream")) {
    const read = async function* (signal: AbortSignal) {
      for await (const { events, last } of followEvents(store, { clock, after, filter, signal })) {
        const texts = events.map((event) => eventText({ id: event.id, data: JSON.stringify(eventJson(event, mask)) }));
        // Where a client continues whose filter has left out the latest events.
        if (events.at(-1)?.id !== last) texts.push(eventText({ id: last }));
        yield texts.join("");
      }
    };
    return { value: undefined, response: eventStreams.respond(c.req.raw, c.get("visitor"), read) };
  }
  await store.events.keep(READER_KEEP_MS);
  const limit = Math.min(Number(c.req.query("limit") ?? MAX_PAGE_EVENTS), MAX_PAGE_EVENTS);
  const { events, last } = await readEvents(store, after ?? await store.events.last(), { filter, limit });
  return { value: { events: events.map((event) => eventJson(event, mask)), next: last } };
}

/**
 * Returns the ID after which to begin; undefined for the latest.
 *
 * @throws {HttpError} if it isn't a number
 */
function positionOf(c: Context<WebEnv>): number | undefined {
  const given = c.req.header("last-event-id") || c.req.query("after");
  if (given === undefined) return undefined;
  if (/^\d{1,16}$/.test(given) && Number.isSafeInteger(Number(given))) return Number(given);
  throw new HttpError(422, `after is "${given.slice(0, 20)}"; expected the ID of an event`, "after");
}

/** @throws {HttpError} for an unknown type */
function filterOf(c: Context<WebEnv>): EventFilter {
  const given = FILTERS.flatMap((name) => {
    const values = c.req.queries(name);
    return values === undefined ? [] : [[name, values] as const];
  });
  const filter: EventFilter = Object.fromEntries(given);
  const wrong = wrongType(filter.type ?? []);
  if (wrong !== undefined) throw new HttpError(422, `type is ${wrong}`, "type");
  return filter;
}
