/**
 * The events part of the port: a stream of Redis.
 *
 * @module
 */
import { type EventStore, MAX_PAGE_EVENT_CHARACTERS, MAX_PAGE_EVENTS } from "../port/events.ts";
import type { Context } from "./context.ts";
import { SCRIPTS } from "./client/scripts.ts";
import { EVENTS } from "./keys.ts";

/** Parts of an event in the reply of the script. */
const EVENT_PARTS = 3;

/** Returns the part. */
export function eventsPart(context: Context): EventStore {
  const { client, offset } = context;
  return {
    async keep(ms) {
      while (await client.run(SCRIPTS.eventsKeep, { now: offset(), ms }) === 1);
    },
    last: () => lastId(context),
    async read(after, limit = MAX_PAGE_EVENTS) {
      const args = { after, limit: Math.min(limit, MAX_PAGE_EVENTS), maxSize: MAX_PAGE_EVENT_CHARACTERS };
      const [before, ...parts] = await client.run(SCRIPTS.eventsRead, args) as [string, ...string[]];
      const events = Array.from({ length: parts.length / EVENT_PARTS }, (_, i) => {
        const [id, at, body] = parts.slice(i * EVENT_PARTS) as [string, string, string];
        return { id: Number(id), at: Number(at), body };
      });
      return { events, ...(Number(before) > after && { missing: Number(before) }) };
    },
  };
}

/** Returns the ID of the latest event. */
export async function lastId({ client }: Pick<Context, "client">): Promise<number> {
  const [entry] = await client.call(["XREVRANGE", EVENTS, "+", "-", "COUNT", "1"]) as [string, unknown][];
  return entry === undefined ? 0 : Number(entry[0].split("-")[0]);
}
