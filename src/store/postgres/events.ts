/**
 * The events part of the port. Transactions commit in another order than they insert, so that an event has no ID until it is first read.
 *
 * @module
 */
import { type EventStore, MAX_PAGE_EVENT_CHARACTERS, MAX_PAGE_EVENTS } from "../port/events.ts";
import type { Engine } from "../sql/body.ts";
import { keep, lastId } from "../sql/events.ts";
import type { Runner } from "./engine.ts";

/** Events that get their IDs in one step. */
const MAX_NUMBERED = 2_000;

/** Returns the part. */
export function eventsPart(runner: Runner, engine: Engine): EventStore {
  const number = async () => {
    for (let isMore = true; isMore;) {
      const [row] = await runner.call("number_events", [MAX_NUMBERED], ["integer"]);
      isMore = row!.number_events === true;
    }
  };
  return {
    async keep(ms) {
      await number();
      await keep(engine, ms);
    },
    async last() {
      await number();
      return await engine.read(lastId);
    },
    async read(after, limit = MAX_PAGE_EVENTS) {
      const most = Math.min(limit, MAX_PAGE_EVENTS);
      const values = [after, most, MAX_PAGE_EVENT_CHARACTERS];
      const rows = await runner.call("read_events", values, ["bigint", "integer", "bigint"]);
      const events = rows.flatMap(({ id, at, body }) =>
        id === null ? [] : { id: Number(id), at: Number(at), body: body as string }
      );
      const dropped = Number(rows[0]?.dropped ?? 0);
      return { events, ...(dropped > after && { missing: dropped }) };
    },
  };
}
