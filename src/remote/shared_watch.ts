/**
 * Waits for work on behalf of many workers: one watch of the store for all that take from the same queues with the same classes. A thousand watches would all
 * look at each change.
 *
 * The condition holds until a job is taken, so waking one worker at a time loses none: the next one wakes if there is more.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { ServerStore } from "../store/port/store.ts";
import type { Topic } from "../store/port/watch.ts";

type WorkTopic = Extract<Topic, { readonly work: unknown }>;

/** The workers that wait for the same queues with the same classes. */
interface Line {
  readonly topic: WorkTopic;
  /** Wakes each; longest waiting first. */
  readonly waiting: Set<() => void>;
  /** Ends the watch. */
  end: AbortController | undefined;
}

export class SharedWatch {
  readonly #store: ServerStore;
  readonly #clock: Clock;
  readonly #lines = new Map<string, Line>();

  constructor(store: ServerStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Returns the store with this watch. */
  get store(): ServerStore {
    return { ...this.#store, watch: (topic, signal) => this.#watch(topic, signal) };
  }

  async #watch(topic: Topic, signal: AbortSignal): Promise<boolean> {
    if (typeof topic === "string" || !("work" in topic)) return await this.#store.watch(topic, signal);
    if (signal.aborted) return false;
    const key = JSON.stringify([topic.work, topic.classes]);
    const line = this.#lines.get(key) ?? { topic, waiting: new Set(), end: undefined };
    this.#lines.set(key, line);
    await new Promise<void>((resolve) => {
      const wake = () => {
        line.waiting.delete(wake);
        if (line.waiting.size === 0) line.end?.abort();
        signal.removeEventListener("abort", wake);
        resolve();
      };
      line.waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
      if (line.end === undefined) void this.#run(key, line);
    });
    return !signal.aborted;
  }

  async #run(key: string, line: Line): Promise<void> {
    line.end = new AbortController();
    while (line.waiting.size > 0) {
      if (line.end.signal.aborted) line.end = new AbortController();
      const hasWork = await this.#store.watch(line.topic, line.end.signal);
      const [first] = line.waiting;
      first?.();
      // That one takes first.
      if (hasWork) await this.#clock.turn();
      await this.#clock.turn();
    }
    line.end = undefined;
    this.#lines.delete(key);
  }
}
