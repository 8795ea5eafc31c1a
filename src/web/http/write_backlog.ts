/**
 * The bytes of answers that nobody has read yet have one bound for all connections together. Beyond it, those that have
 * waited longest are dropped: whoever reads does not keep an answer waiting.
 *
 * @module
 */
import type { ServerResponse } from "node:http";

/** Answers on their way, the oldest first. */
export class WriteBacklog {
  readonly #most: number;
  readonly #sizes = new Map<ServerResponse, number>();
  #bytes = 0;

  /** @param most bytes in all */
  constructor(most: number) {
    this.#most = most;
  }

  /** Counts an answer until it has been sent or its reader has gone; makes room for it if need be. */
  add(outgoing: ServerResponse, bytes: number): void {
    this.#sizes.set(outgoing, bytes);
    this.#bytes += bytes;
    outgoing.once("close", () => this.#drop(outgoing));
    for (const [oldest] of this.#sizes) {
      if (this.#bytes <= this.#most || oldest === outgoing) break;
      this.#drop(oldest);
      oldest.destroy();
    }
  }

  #drop(outgoing: ServerResponse): void {
    this.#bytes -= this.#sizes.get(outgoing) ?? 0;
    this.#sizes.delete(outgoing);
  }
}
