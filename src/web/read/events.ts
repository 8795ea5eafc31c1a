/**
 * `/events`: what the feed tells, as a stream.
 *
 * @module
 */
import type { Context } from "hono";
import { HttpError } from "../http/body.ts";
import type { Services, WebEnv } from "../services.ts";

/**
 * Answers with the stream. A visitor who has left meanwhile, or asks for the head alone, takes no place.
 *
 * @throws {HttpError} when too many watch
 */
export function eventStream(services: Services, c: Context<WebEnv>): Response {
  const { method, signal } = c.req.raw;
  let stream: ReadableStream<Uint8Array> | null = null;
  try {
    if (method !== "HEAD" && !signal.aborted) stream = services.feed.watch(c.get("visitor").address);
  } catch (error) {
    throw new HttpError(503, (error as Error).message);
  }
  return new Response(stream, {
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
    },
  });
}
