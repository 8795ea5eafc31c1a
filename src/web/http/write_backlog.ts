/**
 * Bounds the bytes of responses that clients haven't read yet, for all connections together. Beyond the bound, the oldest
 * responses are dropped with their connections: a client that reads doesn't keep a response waiting.
 *
 * @module
 */
import type { ServerResponse } from "node:http";

/** Responses being sent, the oldest first. */
export class WriteBacklog {
  readonly #maxBytes: number;
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
