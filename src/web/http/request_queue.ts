/**
 * Serves the requests of one connection one at a time: each waits until the response before it has been sent. Otherwise a
 * client that sends thousands of requests in one write and reads nothing would fill the memory with responses.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests that may wait behind the one being served. Browsers and proxies send none ahead. */
const MAX_AHEAD = 4;

/** A connection's requests without a complete response. */
interface Line {
  length: number;
  last: Promise<void>;
}

/**
 * Serves each connection's requests in turn, and drops a connection that sends too many ahead.
 *
 * @param answer never throws
 */
export function serializeRequests(
  answer: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const lines = new WeakMap<Socket, Line>();
  return (incoming, outgoing) => {
    const { socket } = incoming;
    if (socket.destroyed) return;
    const line = lines.get(socket) ?? { length: 0, last: Promise.resolve() };
    lines.set(socket, line);
    if (line.length > MAX_AHEAD) {
      socket.destroy();
      // Stops the parser, which catches this: the packet may hold a thousand more requests.
      throw new RangeError("Too many requests ahead");
    }
    line.length++;
    const sent = new Promise<void>((resolve) => void outgoing.once("close", resolve));
    line.last = line.last.then(async () => {
      // Only the response being sent gets the connection's `close` event, not the waiting ones.
      if (socket.destroyed) return;
      await answer(incoming, outgoing);
      await sent;
      line.length--;
    });
  };
}

/**
 * Bounds the bytes of responses that clients haven't read yet, for all connections together. Beyond the bound, the oldest
 * responses are dropped with their connections: a client that reads doesn't keep a response waiting.
 */
export class WriteBacklog {
  readonly #maxBytes: number;
  /** Of responses being sent, the oldest first. */
  readonly #sizes = new Map<ServerResponse, number>();
  #bytes = 0;

  /** @param maxBytes of all responses together */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Counts a response until it has been sent or its connection closes. Drops older responses to stay within the bound. */
  add(outgoing: ServerResponse, bytes: number): void {
    this.#sizes.set(outgoing, bytes);
    this.#bytes += bytes;
    outgoing.once("close", () => this.#drop(outgoing));
    for (const [oldest] of this.#sizes) {
      if (this.#bytes <= this.#maxBytes || oldest === outgoing) break;
      this.#drop(oldest);
      oldest.destroy();
    }
  }

  #drop(outgoing: ServerResponse): void {
    this.#bytes -= this.#sizes.get(outgoing) ?? 0;
    this.#sizes.delete(outgoing);
  }
}
