/**
 * Our channel, on which scripts tell that a due time is earlier than those before, that the crontab has changed, and that
 * a queue is let go again. It has a connection of its own, shared with the channel of results.
 *
 * Who waits hears of what concerns them alone: that a job of a limited queue has ended may be told a thousand times a
 * second, and none of the others is to ask Redis each time.
 *
 * @module
 */
import { systemClock } from "../../../clock.ts";
import { WAKE_CHANNEL } from "../keys.ts";
import type { ReconnectingClient } from "../client/reconnecting_client.ts";

/** What something that is told is about. */
export type Topic = "due" | "cron" | "queues" | "groups";

const TOPICS: Readonly<Record<string, Topic>> = {
  due: "due",
  cron: "cron",
  room: "queues",
  resume: "queues",
  limit: "queues",
  groups: "groups",
};

/** What is told on our channel. */
export class WakeChannel {
  readonly #link: ReconnectingClient;
  readonly #waiting: Readonly<Record<Topic, Set<AbortController>>> = {
    due: new Set(),
    cron: new Set(),
    queues: new Set(),
    groups: new Set(),
  };
  #listening = false;
  readonly #heard: Record<Topic, number> = { due: 0, cron: 0, queues: 0, groups: 0 };

  /** @param link the connection for subscriptions */
  constructor(link: ReconnectingClient) {
    this.#link = link;
  }

  /** How much was told of it so far: for {@linkcode wait}. */
  heard(topic: Topic): number {
    return this.#heard[topic];
  }

  /**
   * Resolves when something about `topic` is told from now on, or was since that much was {@linkcode heard}; after `ms`
   * anyhow; or when `signal` aborts. Never rejects.
   */
  async wait(topic: Topic, signal: AbortSignal, ms: number, heard = this.#heard[topic]): Promise<void> {
    if (heard !== this.#heard[topic]) return;
    const told = new AbortController();
    this.#waiting[topic].add(told);
    if (!this.#listening) void this.#listen();
    await systemClock.sleep(ms, AbortSignal.any([signal, told.signal]));
    this.#waiting[topic].delete(told);
  }

  async #listen(): Promise<void> {
    this.#listening = true;
    try {
      await this.#link.listen(WAKE_CHANNEL, (message) => {
        const topic = Object.hasOwn(TOPICS, message) ? TOPICS[message] : undefined;
        if (topic === undefined) return;
        this.#heard[topic]++;
        for (const told of this.#waiting[topic]) told.abort();
      });
    } catch {
      // Without the channel (its permission is missing, or Redis is away) waits end by their time.
      this.#listening = false;
    }
  }
}
