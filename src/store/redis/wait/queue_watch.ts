/**
 * Waits until queues have work, without a single poll: `BLMOVE q q RIGHT RIGHT` blocks while a queue is empty, wakes on
 * a push from any client in any language, and leaves the queue as it is, so that nothing can be lost by waiting.
 *
 *  1. One connection per queue, however many wait for it, because the command looks at one queue only. Of more than
 *     {@linkcode MAX_WATCHED_QUEUES} queues, the others are looked at together, twice a second: a worker with thousands of
 *     queues would use up the connections that Redis allows in all.
 *  2. A wait that is given up leaves its command blocked for the next one; when nobody has waited for a while (twice
 *     {@linkcode BLOCK_S} seconds at most), the connection is closed.
 *  3. A queue that is closed, because it is paused or at its limit, is not looked at: it may well have jobs. That it is
 *     open again is told on our channel, or seen when its time is over, or within a second.
 *
 * @module
 */
import { systemClock } from "../../../clock.ts";
import { ALL_QUEUES } from "../../port/paused_queues.ts";
import { BLOCK_S, type Context } from "../context.ts";
import { queueKey } from "../keys.ts";
import type { ReconnectingClient } from "../client/reconnecting_client.ts";
import { SCRIPTS } from "../client/scripts.ts";
import type { WakeChannel } from "./wake_channel.ts";

/** The most queues that have a connection. */
const MAX_WATCHED_QUEUES = 32;
/** How often queues without a connection are looked at. */
const LOOK_AT_QUEUES_MS = 500;
/** How soon it is seen that a queue is open again, where nobody tells. */
const LOOK_AT_CLOSED_MS = 500;
/** After a failure, which the link has reported, waiters are woken so much later: they will meet it themselves. */
const RETRY_MS = 500;

/** How soon the first job of a queue's first group is seen where this user may not publish. */
const LOOK_AT_GROUPS_MS = 2_000;

interface State {
  readonly closed: readonly number[];
  readonly groups: readonly number[];
}

/** Waits for work. */
export class QueueWatch {
  readonly #context: Context;
  readonly #channel: WakeChannel;
  readonly #blockS: number;
  readonly #queues = new Map<string, WatchedQueue>();
  readonly #end = new AbortController();

  /** @param blockS seconds after which a blocked command is sent anew, or its connection closed */
  constructor(context: Context, channel: WakeChannel, blockS: number = BLOCK_S) {
    this.#context = context;
    this.#channel = channel;
    this.#blockS = blockS;
  }

  /** See `JobStore.waitForWork`. */
  async wait(queues: readonly string[], signal: AbortSignal): Promise<void> {
    const over = AbortSignal.any([signal, this.#end.signal]);
    if (over.aborted) return;
    // What is told while it is looked counts.
    const heard = this.#channel.heard("queues");
    const heardGroups = this.#channel.heard("groups");
    const { closed, groups } = await this.#closed(queues, over);
    if (over.aborted || groups.includes(0)) return;
    const woken = new AbortController();
    const either = AbortSignal.any([over, woken.signal]);
    const { watched, others } = this.#choose(queues.filter((_, i) => closed[i] === 0));
    const waits = watched.map((queue) => this.#watched(queue).wait(either));
    if (others.length > 0) waits.push(this.#lookAt(others, either));
    waits.push(this.#groupReady(queues, groups, heardGroups, either));
    if (closed.some(Boolean)) waits.push(this.#opened(queues, closed, heard, either));
    if (waits.length === 0) waits.push(systemClock.sleep(LOOK_AT_CLOSED_MS, either));
    await Promise.race(waits);
    woken.abort();
    await Promise.all(waits);
  }

  /** Gives up everything. Waits resolve. */
  close(): void {
    this.#end.abort();
    for (const queue of this.#queues.values()) queue.close();
  }

  /** Chooses the queues that have a connection: those that have one already, and then the first ones. */
  #choose(open: readonly string[]): { readonly watched: readonly string[]; readonly others: readonly string[] } {
    if (open.length <= MAX_WATCHED_QUEUES) return { watched: open, others: [] };
    const sorted = Object.groupBy(open, (queue) => this.#queues.has(queue) ? "connected" : "other");
    const { connected = [], other = [] } = sorted;
    const all = [...connected, ...other];
    return { watched: all.slice(0, MAX_WATCHED_QUEUES), others: all.slice(MAX_WATCHED_QUEUES) };
  }

  /** Resolves when one of the queues has a job, or when `signal` aborts. */
  async #lookAt(queues: readonly string[], signal: AbortSignal): Promise<void> {
    const { link, offset } = this.#context;
    while (!signal.aborted) {
      // Where it fails, the link has reported it.
      const found = await link.run(SCRIPTS.hasQueuedJobs, [], [offset(), ALL_QUEUES, ...queues]).catch(() => 0);
      if (found === 1) return;
      await systemClock.sleep(LOOK_AT_QUEUES_MS, signal);
    }
  }

  #watched(queue: string): WatchedQueue {
    let watched = this.#queues.get(queue);
    if (!watched) {
      watched = new WatchedQueue(queue, this.#context.blockingLink("queue"), this.#blockS, () => {
        this.#queues.delete(queue);
      });
      this.#queues.set(queue, watched);
    }
    return watched;
  }

  /** Resolves when one of these queues that was closed is not. */
  async #opened(
    queues: readonly string[],
    before: readonly number[],
    since: number,
    signal: AbortSignal,
  ): Promise<void> {
    let heard = since;
    for (let closed = before;;) {
      const known = closed.filter((ms) => ms > 0);
      await this.#channel.wait("queues", signal, Math.min(LOOK_AT_CLOSED_MS, ...known), heard);
      if (signal.aborted) return;
      heard = this.#channel.heard("queues");
      closed = (await this.#closed(queues, signal)).closed;
      if (signal.aborted || queues.some((_, i) => before[i] !== 0 && closed[i] === 0)) return;
    }
  }

  /** Resolves when a group of one of these queues has a job to take. A blocked command cannot watch the groups. */
  async #groupReady(
    queues: readonly string[],
    before: readonly number[],
    since: number,
    signal: AbortSignal,
  ): Promise<void> {
    let heard = since;
    for (let groups = before; !signal.aborted;) {
      const ms = Math.min(LOOK_AT_GROUPS_MS, ...groups.filter((inMs) => inMs > 0));
      await this.#channel.wait("groups", signal, ms, heard);
      if (signal.aborted) return;
      heard = this.#channel.heard("groups");
      groups = (await this.#closed(queues, signal)).groups;
      if (groups.includes(0)) return;
    }
  }

  /**
   * Of each queue: 0 if it is open, -1 if it is closed for an unknown time, else for how many milliseconds. And whether its
   * groups have work: 0 now, -1 if not, else in how many milliseconds.
   */
  async #closed(queues: readonly string[], signal: AbortSignal): Promise<State> {
    if (queues.length === 0) return { closed: [], groups: [] };
    try {
      const { link, offset } = this.#context;
      const reply = await link.run(SCRIPTS.blockedQueues, [], [offset(), ALL_QUEUES, ...queues]);
      const [closed, groups] = reply as [number[], number[]];
      return { closed, groups };
    } catch {
      await systemClock.sleep(RETRY_MS, signal);
      return { closed: queues.map(() => 0), groups: queues.map(() => -1) };
    }
  }
}

/** One queue that somebody waits for, or did a moment ago. */
class WatchedQueue {
  readonly #key: string;
  readonly #link: ReconnectingClient;
  readonly #blockS: number;
  readonly #onEnd: () => void;
  readonly #end = new AbortController();
  readonly #waiting = new Set<() => void>();
  #running = false;
  #arrival: AbortController | undefined;

  constructor(queue: string, link: ReconnectingClient, blockS: number, onEnd: () => void) {
    this.#key = queueKey(queue);
    this.#link = link;
    this.#blockS = blockS;
    this.#onEnd = onEnd;
  }

  /** Resolves when the queue has a job, or when `signal` aborts. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener("abort", wake);
        this.#waiting.delete(wake);
        resolve();
      };
      signal.addEventListener("abort", wake, { once: true });
      this.#waiting.add(wake);
      this.#arrival?.abort();
      if (!this.#running) void this.#run();
    });
  }

  close(): void {
    this.#end.abort();
    void this.#link.close();
  }

  async #run(): Promise<void> {
    this.#running = true;
    do {
      try {
        const job = await this.#link.call(["BLMOVE", this.#key, this.#key, "RIGHT", "RIGHT", `${this.#blockS}`]);
        if (job !== null) this.#wakeAll();
      } catch {
        await systemClock.sleep(RETRY_MS, this.#end.signal);
        this.#wakeAll();
      }
      if (this.#waiting.size === 0) await this.#idle();
    } while (this.#waiting.size > 0 && !this.#end.signal.aborted);
    this.#onEnd();
    await this.#link.close();
  }

  /** Keeps the connection a while for the next wait. */
  async #idle(): Promise<void> {
    this.#arrival = new AbortController();
    await systemClock.sleep(this.#blockS * 1_000, AbortSignal.any([this.#arrival.signal, this.#end.signal]));
    this.#arrival = undefined;
  }

  #wakeAll(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
