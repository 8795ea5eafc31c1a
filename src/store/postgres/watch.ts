/**
 * Waits for commits of other processes: notifications, and a look each second, because a push may have looked for waiters before
 * this process began to wait, and because poolers drop notifications.
 *
 *  1. A wait looks at first. Only then the process notes in the table `waiting` that it waits, and looks again.
 *  2. While anything waits, one call a second renews that note and looks for all waits together. Idle processes ask no more.
 *  3. Where no notification of this process reaches itself, it polls alone, and says so once.
 *
 * @module
 */
import { asideClass } from "../../job/aside.ts";
import type { Topic } from "../port/watch.ts";
import type { Value } from "../sql/body.ts";
import type { Runner } from "./engine.ts";
import type { Floors } from "./floors.ts";
import { array } from "./values.ts";

const WORK = "work:";
/** Before queues and classes (JSON): jobs wait aside there for a worker with one of the classes. */
const ASIDE = "aside:";
/** Before a topic: its condition holds, without a look. */
const READY = "ready:";
const POLL_MS = 1_000;
/** A note that isn't renewed is forgotten after this time. */
const NOTE_MS = 3_000;
/** A notification to itself takes this long at most. */
const ECHO_MS = 2_000;
const LOOK_TYPES = ["text[]", "bigint[]", "bigint", "bigint", "bigint"];
const WAIT_TYPES = [...LOOK_TYPES, "bigint", "bigint"];

interface Waiter {
  readonly topics: readonly string[];
  readonly wake: () => void;
}

/** The knowledge of the process by which `due`, `cron` and queues are judged. */
export interface Known {
  readonly due: () => number | undefined;
  readonly cron: () => number;
  readonly floors: Floors;
}

/** Wakes waiters when the condition of their topic may hold. */
export class Watch {
  readonly #runner: Runner;
  readonly #known: Known;
  readonly #log: (message: string) => void;
  readonly #who = crypto.getRandomValues(new Uint32Array(1))[0]!;
  readonly #waiters = new Set<Waiter>();
  readonly #end = new AbortController();
  /** Notifications are heard: undefined while that isn't known. */
  #hears: boolean | undefined;
  #listening: Promise<void> | undefined;
  #polling: Promise<void> | undefined;
  /** The topics that the latest call has noted. */
  #noted: Set<string> = new Set();
  /** Ends the pause between two polls. */
  #hurry = () => {};

  constructor(runner: Runner, known: Known, log: (message: string) => void) {
    this.#runner = runner;
    this.#known = known;
    this.#log = log;
  }

  /** Whether notifications arrive; undefined if nothing has waited so far. */
  get hears(): boolean | undefined {
    return this.#hears;
  }

  /** Resolves when the condition of a topic may hold, `signal` aborts, or the store closes. */
  async until(topic: Topic, signal: AbortSignal): Promise<boolean> {
    const stop = AbortSignal.any([signal, this.#end.signal]);
    const topics = topicsOf(topic);
    while (!stop.aborted) {
      const found = await this.#look(topics).catch(() => undefined);
      if (found === undefined) await this.#pause(stop);
      else if (found.length > 0 || stop.aborted) break;
      else {
        await this.#wait(topics, stop);
        break;
      }
    }
    return !stop.aborted;
  }

  /** Ends all waits. */
  async close(): Promise<void> {
    this.#end.abort();
    for (const { wake } of this.#waiters) wake();
    this.#hurry();
    await this.#polling;
    await this.#listening;
  }

  /** Looks for all waits, and wakes those whose condition holds. */
  async #lookForAll(look: (topics: readonly string[]) => Promise<string[]>): Promise<void> {
    const topics = [...new Set([...this.#waiters].flatMap((waiter) => waiter.topics))];
    if (topics.length === 0) return;
    const found = new Set(await look(topics));
    for (const waiter of this.#waiters) if (waiter.topics.some((topic) => found.has(topic))) waiter.wake();
  }

  async #look(topics: readonly string[]): Promise<string[]> {
    const rows = await this.#runner.call("look", this.#asked(topics), LOOK_TYPES);
    return rows.map((row) => String(row.look));
  }

  /** Notes that this process waits, and looks: a push that commits in between may be missed. */
  async #noteAndLook(topics: readonly string[]): Promise<string[]> {
    const rows = await this.#runner.call("wait_for", [...this.#asked(topics), this.#who, NOTE_MS], WAIT_TYPES);
    return rows.map((row) => String(row.wait_for));
  }

  #asked(topics: readonly string[]): Value[] {
    const { due, cron, floors } = this.#known;
    const of = (topic: string) => topic.startsWith(WORK) ? floors.of(topic.slice(WORK.length), "look") : null;
    return [array(topics), array(topics.map(of)), floors.returned, due() ?? null, cron()];
  }

  #wait(topics: readonly string[], stop: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiters.delete(waiter);
        stop.removeEventListener("abort", wake);
        if (this.#waiters.size === 0) this.#hurry();
        resolve();
      };
      const waiter = { topics, wake };
      this.#waiters.add(waiter);
      stop.addEventListener("abort", wake, { once: true });
      if (this.#runner.client.onlyPolls) this.#hears = false;
      else this.#listening ??= this.#listen();
      // A topic of which the others don't know: it is noted at once.
      this.#hurry();
      this.#polling ??= this.#poll();
    });
  }

  async #poll(): Promise<void> {
    this.#noted.clear();
    while (this.#waiters.size > 0 && !this.#end.signal.aborted) {
      try {
        if (this.#hears === false) await this.#lookForAll((topics) => this.#look(topics));
        else {
          let isNew = false;
          await this.#lookForAll((topics) => {
            isNew = topics.some((topic) => !this.#noted.has(topic));
            this.#noted = new Set(topics);
            return this.#noteAndLook(topics);
          });
          if (isNew) await this.#lookForAll((topics) => this.#look(topics));
        }
      } catch {
        // The client has logged it. The waits continue.
        this.#noted.clear();
      }
      if (this.#waiters.size > 0) await this.#pause(this.#end.signal);
    }
    // Not later: a wait that begins meanwhile would find a poll that has ended, and nothing would look for it.
    this.#polling = undefined;
  }

  #pause(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const end = () => stop.abort();
    this.#hurry = end;
    signal.addEventListener("abort", end, { once: true });
    return this.#runner.client.clock.sleep(POLL_MS, stop.signal).catch(() => {})
      .finally(() => signal.removeEventListener("abort", end));
  }

  /** Listens, and notifies itself: poolers accept `LISTEN`, and drop what arrives. */
  async #listen(): Promise<void> {
    const { client, schema } = this.#runner;
    const echo = `echo:${this.#who}`;
    const stop = new AbortController();
    let hasFailed = false;
    const listening = client.listen(`jobs_${schema}`, (payload) => {
      if (payload !== echo) return this.#onMessage(payload);
      // Also if it is late, because of a handler that blocks the event loop, or of the network.
      this.#hears = true;
      stop.abort();
    }, () => this.#hurry());
    const end = () => stop.abort();
    this.#end.signal.addEventListener("abort", end, { once: true });
    try {
      await Promise.race([listening.ready, aborted(this.#end.signal)]);
      await client.run("SELECT pg_notify($1, $2)", [`jobs_${schema}`, echo]);
      await client.clock.sleep(ECHO_MS, stop.signal);
      this.#hears ??= false;
      if (!this.#hears && !this.#end.signal.aborted) {
        this.#log(
          "Notifications of PostgreSQL don't arrive, as behind a pooler: jobs start up to 1 s later; name a direct address with ?listen=HOST:PORT",
        );
      }
      await aborted(this.#end.signal);
    } catch {
      // Polls find everything.
      hasFailed = true;
    } finally {
      await listening.stop();
      // The next wait tries again.
      if (hasFailed) this.#listening = undefined;
    }
  }

  #onMessage(topic: string): void {
    if (topic.startsWith(READY)) {
      const ready = topic.slice(READY.length);
      for (const waiter of this.#waiters) if (waiter.topics.includes(ready)) waiter.wake();
      return;
    }
    const all = topic === `${WORK}*`;
    let mayHold = false;
    for (const { topics } of this.#waiters) {
      if (topics.includes(topic) || all && topics.some((one) => one.startsWith(WORK))) mayHold = true;
    }
    if (mayHold) void this.#lookForAll((topics) => this.#look(topics)).catch(() => {});
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function topicsOf(topic: Topic): string[] {
  if (typeof topic === "string") return [topic];
  if ("work" in topic) {
    const { work: queues, classes } = topic;
    return [
      ...queues.map((name) => WORK + name),
      ASIDE + JSON.stringify({ queues, ...(classes && { classes: classes.map(asideClass) }) }),
    ];
  }
  if ("result" in topic) return [`result:${topic.result}`];
  if ("events" in topic) return [`events:${topic.events}`];
  if ("stream" in topic) return [`stream:${topic.after}/${topic.stream}`];
  return ["commandsTo" in topic ? `commands:${topic.commandsTo}` : `reply:${topic.replyTo}`];
}
