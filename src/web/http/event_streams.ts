/**
 * Streams of server-sent events for programs: how many are open, how they end, and that none of them gathers events in memory. The
 * next events are read when the client has received those before.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Visitor } from "../auth/gate.ts";
import type { Sessions } from "../auth/sessions.ts";
import { HttpError } from "./body.ts";

/** Streams of all clients, and of one address. */
const MAX_STREAMS = 500;
const MAX_STREAMS_PER_ADDRESS = 50;
/** Proxies end connections that are silent for a minute, and a write shows whether the client is still there. */
const KEEP_ALIVE_MS = 15_000;
/** How soon a browser connects again. */
const RETRY_MS = 3_000;

/** Returns the text of an event. An ID without an event only sets where the client continues. */
export function eventText(event: { readonly id?: number; readonly name?: string; readonly data?: string }): string {
  const { id, name, data } = event;
  const lines = [
    ...id === undefined ? [] : [`id: ${id}`],
    ...name === undefined ? [] : [`event: ${name}`],
    ...data === undefined ? [] : [`data: ${data}`],
  ];
  return `${lines.join("\n")}\n\n`;
}

/** The part of a visitor on which its streams depend. */
export type StreamVisitor = Pick<Visitor, "address" | "session">;

/** The open streams. */
export class EventStreams {
  readonly #clock: Clock;
  readonly #sessions: Pick<Sessions, "follow">;
  readonly #open = new Set<AbortController>();
  readonly #perAddress = new Map<string, number>();

  /** @param sessions end their streams */
  constructor(clock: Clock, sessions: Pick<Sessions, "follow">) {
    this.#clock = clock;
    this.#sessions = sessions;
  }

  /**
   * Returns a response that is a stream.
   *
   * @param visitor whose session bounds the stream, if it has one
   * @param read yields texts of events; its signal aborts when the client has left, the session has ended, or the server stops
   * @throws {HttpError} if too many streams are open, in total or from this address
   */
  respond(
    { method, signal }: Request,
    visitor: StreamVisitor,
    read: (signal: AbortSignal) => AsyncGenerator<string>,
  ): Response {
    const body = method === "HEAD" || signal.aborted ? null : this.#stream(visitor, read);
    return new Response(body, {
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "no-store, no-transform",
        "x-accel-buffering": "no",
      },
    });
  }

  /** Ends all streams. */
  close(): void {
    for (const stop of this.#open) stop.abort();
  }

  #stream(
    { address, session }: StreamVisitor,
    read: (signal: AbortSignal) => AsyncGenerator<string>,
  ): ReadableStream<Uint8Array> {
    const others = this.#perAddress.get(address) ?? 0;
    if (this.#open.size >= MAX_STREAMS || others >= MAX_STREAMS_PER_ADDRESS) {
      throw new HttpError(503, `Too many event streams are open: at most ${MAX_STREAMS_PER_ADDRESS} from one address`);
    }
    const stop = new AbortController();
    this.#open.add(stop);
    this.#perAddress.set(address, others + 1);
    if (session !== undefined) {
      const unfollow = this.#sessions.follow(session, () => stop.abort());
      stop.signal.addEventListener("abort", unfollow);
    }
    const events = read(stop.signal);
    const encoder = new TextEncoder();
    let next: Promise<IteratorResult<string>> | undefined;
    const leave = () => {
      stop.abort();
      if (this.#open.delete(stop)) this.#leave(address);
    };
    return new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`)),
      pull: async (controller) => {
        try {
          const step = await this.#within(next ??= events.next());
          if (step?.done) {
            leave();
            return controller.close();
          }
          controller.enqueue(encoder.encode(step === undefined ? ":\n\n" : step.value));
          if (step !== undefined) next = undefined;
        } catch {
          // The store has failed. The client connects again, and continues.
          leave();
          controller.close();
        }
      },
      cancel: leave,
    }, { highWaterMark: 1 });
  }

  /** Resolves with the next event; with undefined if there is none for a while. */
  async #within(next: Promise<IteratorResult<string>>): Promise<IteratorResult<string> | undefined> {
    const over = new AbortController();
    try {
      return await Promise.race([next, this.#clock.sleep(KEEP_ALIVE_MS, over.signal).then(() => undefined)]);
    } finally {
      over.abort();
    }
  }

  #leave(address: string): void {
    const left = this.#perAddress.get(address)! - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
  }
}
