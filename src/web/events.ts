/**
 * `/events`: what the feed tells, as a stream.
 *
 * @module
 */
import type { Context } from "hono";
import { Refusal } from "./body.ts";
import type { Desk, WebEnv } from "./desk.ts";

/**
 * The stream.
 *
 * @throws {Refusal} when too many watch
 */
export function eventStream(desk: Desk, c: Context<WebEnv>): Response {
  let stream: ReadableStream<Uint8Array>;
  try {
    stream = desk.feed.watch(c.get("visitor").address);
  } catch (error) {
    throw new Refusal(503, (error as Error).message);
  }
  return c.body(stream, 200, {
    "content-type": "text/event-stream",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
  });
}
