/**
 * `/events`: the live counts as a stream of server-sent events.
 *
 * @module
 */
import type { Context } from "hono";
import { HttpError } from "../http/body.ts";
import type { Services, WebEnv } from "../services.ts";

/**
 * Responds with the stream. An aborted request, or one for the head alone, doesn't count as a watcher.
 *
 * @throws {HttpError} if too many pages watch
 */
export function eventStream(services: Services, c: Context<WebEnv>): Response {
  const { method, signal } = c.req.raw;
  let stream: ReadableStream<Uint8Array> | null = null;
  try {
    if (method !== "HEAD" && !signal.aborted) stream = services.feed.watch(c.get("visitor"));
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
