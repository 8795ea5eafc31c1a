/**
 * The API's route of the stream of a job, as server-sent events: an event per chunk, `gap` where chunks were dropped, `end` when the
 * job has ended.
 *
 * @module
 */
import type { Context } from "hono";
import { parseLossless, stringifyLossless } from "../../job/json.ts";
import { parsePayload } from "../../job/job.ts";
import { readEnded } from "../../job/result.ts";
import { object } from "../../operator/shapes/shape.ts";
import { any, integer } from "../../operator/shapes/values.ts";
import { followStream, type StreamItem } from "../../store/ops/streams.ts";
import { allows } from "../auth/access.ts";
import { inScope } from "../auth/accounts.ts";
import { HttpError } from "../http/body.ts";
import { eventText } from "../http/event_streams.ts";
import type { Services, WebEnv } from "../services.ts";
import { type ApiRoute, streams } from "./route.ts";

const chunkShape = object("the data of an event", {
  number: integer("the number of the chunk, from 1: the ID of the event"),
  run: integer("the number of the run: it rises when the job runs again, and its output begins again"),
  attempt: integer("the attempt"),
  chunk: any("the chunk, as the handler has written it"),
});

/** The route. */
export const streamRoute: ApiRoute = streams({
  path: "/jobs/{jid}/stream",
  access: "result",
  about: "Follows the stream of a job, as server-sent events, until the job has ended",
  query: { after: "the number of the last chunk that you have; default 0. Last-Event-ID has the same meaning" },
  shape: chunkShape,
  run: respond,
});

async function respond(c: Context<WebEnv>, services: Services): Promise<Response> {
  const { store, clock, eventStreams } = services;
  const jid = c.req.param("jid") ?? "";
  const after = lastIdOf(c) ?? 0;
  await checkJob(c, services, jid);
  const page = await store.streams.read(jid, after);
  // A browser that has all chunks connects again, until the answer is 204.
  if (page?.ended && page.parts.length === 0 && c.req.header("last-event-id") !== undefined) {
    return new Response(null, { status: 204 });
  }
  return eventStreams.respond(c.req.raw, c.get("visitor"), async function* (signal) {
    for await (const items of followStream(store, jid, { clock, after, signal })) {
      if (items.length > 0) yield items.map((item) => textOf(item, services)).join("");
    }
    if (!signal.aborted) yield eventText({ name: "end", data: JSON.stringify(await endOf(services, jid)) });
  });
}

function textOf(item: StreamItem, { mask }: Services): string {
  const { number } = item;
  if ("gapFrom" in item) {
    return eventText({ id: number, name: "gap", data: JSON.stringify({ from: item.gapFrom, to: number }) });
  }
  const { run, attempt } = item;
  // A chunk that is cut would corrupt the text that a program puts together.
  const chunk = stringifyLossless(mask.whole.value(parseLossless(item.chunk)));
  const head = JSON.stringify({ number, run, attempt }).slice(0, -1);
  return eventText({ id: number, data: `${head},"chunk":${chunk}}` });
}

/** Returns how the job has ended, if its record is kept. */
async function endOf({ store }: Services, jid: string): Promise<{ readonly state?: string }> {
  const [record] = (await store.results.read({ jids: [jid] })).records;
  return record === undefined ? {} : { state: readEnded(record).state };
}

/**
 * Returns the ID of the last event that a client has; undefined if it has none.
 *
 * @throws {HttpError} if it isn't a number
 */
export function lastIdOf(c: Context<WebEnv>): number | undefined {
  const given = c.req.header("last-event-id") || c.req.query("after");
  if (given === undefined) return undefined;
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw new HttpError(422, `after is "${given.slice(0, 20)}"; expected a whole number from 0`, "after");
}

/** @throws {HttpError} if there is no such job, or it is outside of the scope of the role */
async function checkJob(c: Context<WebEnv>, { store }: Services, jid: string): Promise<void> {
  const visitor = c.get("visitor");
  // Operators see all jobs.
  const scope = allows("visit", visitor.role) ? undefined : visitor.scope;
  const [record] = (await store.results.read({ jids: [jid] })).records;
  let job: { readonly class: string; readonly queue: string } | undefined;
  if (record !== undefined) job = readEnded(record);
  else {
    const [entry] = await store.jobs.find([jid]);
    const found = entry && parsePayload(entry.payload);
    if (found !== undefined) job = { class: found.class, queue: String(found.payload.queue ?? "default") };
    else if (entry === undefined && scope === undefined && await store.streams.read(jid, 0) !== undefined) return;
  }
  if (job === undefined || !inScope(scope, job)) throw new HttpError(404, `Job "${jid.slice(0, 80)}" not found`);
}
