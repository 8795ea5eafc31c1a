/**
 * The channel on which scripts announce changes: an earlier due time, a changed cron entry, a queue with room again. It
 * shares a connection with the channel of results, separate from the commands.
 *
 * Waiters subscribe by topic: the end of a job of a limited queue may be announced a thousand times a second, and must not
 * wake the others, which would each query Redis.
 *
 * @module
 */
import { WAKE_CHANNEL } from "../keys.ts";
import type { ReconnectingClient } from "../client/reconnecting_client.ts";

/** The subject of a message. */
export type Topic = "due" | "cron" | "queues" | "groups";

const TOPICS: Readonly<Record<string, Topic>> = {
  due: "due",
  cron: "cron",
  room: "queues",
  resume: "queues",
  limit: "queues",
  groups: "groups",
};

/** Receives the messages, and wakes the waiters of their topic. */
export class WakeChannel {
  readonly #client: ReconnectingClient;
  readonly #waiting: Readonly<Record<Topic, Set<AbortController>>> = {
    due: new Set(),
    cron: new Set(),
    queues: new Set(),
    groups: new Set(),
  };
  #listening = false;
  readonly #counts: Record<Topic, number> = { due: 0, cron: 0, queues: 0, groups: 0 };

  /** @param client the connection for subscriptions */
  constructor(client: ReconnectingClient) {
    this.#client = client;
  }

  /** Returns how many messages of a topic were received so far, for {@linkcode wait}. */
  count(topic: Topic): number {
    return this.#counts[topic];
  }

  /**
   * Resolves at the next message of `topic`, after `ms`, or when `signal` aborts. Resolves at once if a message has arrived
   * since {@linkcode count} returned `since`. Never rejects.
   */
  async wait(topic: Topic, signal: AbortSignal, ms: number, since = this.#counts[topic]): Promise<void> {
    if (since !== this.#counts[topic]) return;
    const woken = new AbortController();
    this.#waiting[topic].add(woken);
    if (!this.#listening) void this.#listen();
    await this.#client.clock.sleep(ms, AbortSignal.any([signal, woken.signal]));
    this.#waiting[topic].delete(woken);
  }

  async #listen(): Promise<void> {
    this.#listening = true;
    try {
      await this.#client.subscribe(WAKE_CHANNEL, (message) => {
        const topic = Object.hasOwn(TOPICS, message) ? TOPICS[message] : undefined;
        if (topic !== undefined) this.#wake(topic);
      });
      // A waiter has looked before the first message could arrive. The others look again within a second.
      this.#wake("cron");
    } catch {
      // Without the channel (the user lacks its permission, or Redis is unreachable) waits end after their time.
      this.#listening = false;
    }
  }
  #wake(topic: Topic): void {
    this.#counts[topic]++;
    for (const woken of this.#waiting[topic]) woken.abort();
  }
}
