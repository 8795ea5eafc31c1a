/**
 * Waits until queues have work, without polling: `BLMOVE q q RIGHT RIGHT` blocks while a queue is empty, wakes on a push
 * from any client in any language, and leaves the queue unchanged. Waiting can't lose a job.
 *
 *  1. Each queue has one connection, shared by all its waiters: the command watches one queue only. Queues beyond the first
 *     {@linkcode MAX_WATCHED_QUEUES} are polled together twice a second, because a worker with thousands of queues would
 *     exhaust the connections that Redis allows.
 *  2. An aborted wait leaves its command blocked for the next wait. A connection without waiters is closed after
 *     2 × {@linkcode BLOCK_S} seconds at most.
 *  3. A queue that is paused or at its limit isn't watched: it may well have jobs. Its opening is announced on the wake
 *     channel, and otherwise found when its time has passed, or by the next poll.
 *
 * @module
 */
import { ALL_QUEUES } from "../../port/paused_queues.ts";
import { BLOCK_S, type Context } from "../context.ts";
import { queueKey } from "../keys.ts";
import { packClasses } from "../take.ts";
import type { Topic } from "../../port/watch.ts";
import type { ReconnectingClient } from "../client/reconnecting_client.ts";
import { SCRIPTS } from "../client/scripts.ts";
import type { WakeChannel } from "./wake_channel.ts";

/** Maximum number of queues that have a connection. */
const MAX_WATCHED_QUEUES = 32;
/** Poll interval of the queues without a connection. */
const POLL_QUEUES_MS = 500;
/** Poll interval of closed queues, whose opening may not be announced. */
const POLL_CLOSED_MS = 500;
/** Delay before waiters wake after a failure. The client has logged it, and the next calls of the waiters fail, too. */
const RETRY_MS = 500;
/** Poll interval of groups: the first job of a queue's first group isn't announced if its client may not publish. */
const POLL_GROUPS_MS = 2_000;

type WorkTopic = Extract<Topic, { readonly work: unknown }>;

/** Whether queues can give jobs, by their index. */
interface QueueStates {
  /** 0: the queue is open, -1: closed for an unknown time, else closed for this many milliseconds. */
  readonly closed: readonly number[];
  /** 0: a group has work, -1: no group has, else a group has work in this many milliseconds. */
  readonly groups: readonly number[];
}

/** Reads the states of the queues of a wait. */
type ReadStates = (signal: AbortSignal) => Promise<QueueStates>;

/** Waits for work. */
export class QueueWatch {
  readonly #context: Context;
  readonly #channel: WakeChannel;
  readonly #blockS: number;
  readonly #queues = new Map<string, WatchedQueue>();
  readonly #end = new AbortController();

  /** @param blockS seconds after which a blocked command is sent again, or its connection closed */
  constructor(context: Context, channel: WakeChannel, blockS: number = BLOCK_S) {
    this.#context = context;
    this.#channel = channel;
    this.#blockS = blockS;
  }

  /** Resolves when one of the queues may have work, or when `signal` aborts. */
  async wait({ work: queues, classes }: WorkTopic, signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.#end.signal]);
    if (stop.aborted) return;
    // Read the counts first: a message during the query must not be missed.
    const queuesCount = this.#channel.count("queues");
    const groupsCount = this.#channel.count("groups");
    const read = (signal: AbortSignal) => this.#readStates(queues, packClasses(classes), signal);
    const { closed, groups } = await read(stop);
    if (stop.aborted || groups.includes(0)) return;
    const woken = new AbortController();
    const either = AbortSignal.any([stop, woken.signal]);
    const { watched, others } = this.#choose(queues.filter((_, i) => closed[i] === 0));
    const waits = watched.map((queue) => this.#watched(queue).wait(either));
    if (others.length > 0) waits.push(this.#poll(others, packClasses(classes), either));
    waits.push(this.#groupReady(read, groups, groupsCount, either));
    if (closed.some(Boolean)) waits.push(this.#opened(read, closed, queuesCount, either));
    if (waits.length === 0) waits.push(this.#context.client.clock.sleep(POLL_CLOSED_MS, either));
    await Promise.race(waits);
    woken.abort();
    await Promise.all(waits);
  }

  /** Ends all waits. */
  close(): void {
    this.#end.abort();
    for (const queue of this.#queues.values()) queue.close();
  }

  /** Chooses the queues to watch: first those that have a connection already, then in their order. */
  #choose(open: readonly string[]): { readonly watched: readonly string[]; readonly others: readonly string[] } {
    if (open.length <= MAX_WATCHED_QUEUES) return { watched: open, others: [] };
    const sorted = Object.groupBy(open, (queue) => this.#queues.has(queue) ? "connected" : "other");
    const { connected = [], other = [] } = sorted;
    const all = [...connected, ...other];
    return { watched: all.slice(0, MAX_WATCHED_QUEUES), others: all.slice(MAX_WATCHED_QUEUES) };
  }

  /** Resolves when one of the queues has a job, or when `signal` aborts. */
  async #poll(queues: readonly string[], classes: string, signal: AbortSignal): Promise<void> {
    const { client, offset } = this.#context;
    while (!signal.aborted) {
      // The client has logged a failure.
      const found = await client.run(SCRIPTS.hasQueuedJobs, {
        ...{ now: offset(), classes, names: [ALL_QUEUES, ...queues] },
      }).catch(() => 0);
      if (found === 1) return;
      await this.#context.client.clock.sleep(POLL_QUEUES_MS, signal);
    }
  }

  #watched(queue: string): WatchedQueue {
    let watched = this.#queues.get(queue);
    if (!watched) {
      watched = new WatchedQueue(queue, this.#context.blockingClient("queue"), this.#blockS, () => {
        this.#queues.delete(queue);
      });
      this.#queues.set(queue, watched);
    }
    return watched;
  }

  /** Resolves when one of the queues that were closed has opened. */
  async #opened(
    read: ReadStates,
    before: readonly number[],
    since: number,
    signal: AbortSignal,
  ): Promise<void> {
    let count = since;
    for (let closed = before;;) {
      const known = closed.filter((ms) => ms > 0);
      await this.#channel.wait("queues", signal, Math.min(POLL_CLOSED_MS, ...known), count);
      if (signal.aborted) return;
      count = this.#channel.count("queues");
      closed = (await read(signal)).closed;
      if (signal.aborted || before.some((ms, i) => ms !== 0 && closed[i] === 0)) return;
    }
  }

  /** Resolves when a group of one of these queues has a job to take. A blocked command cannot watch the groups. */
  async #groupReady(
    read: ReadStates,
    before: readonly number[],
    since: number,
    signal: AbortSignal,
  ): Promise<void> {
    let count = since;
    for (let groups = before; !signal.aborted;) {
      const ms = Math.min(POLL_GROUPS_MS, ...groups.filter((inMs) => inMs > 0));
      await this.#channel.wait("groups", signal, ms, count);
      if (signal.aborted) return;
      count = this.#channel.count("groups");
      groups = (await read(signal)).groups;
      if (groups.includes(0)) return;
    }
  }

  /** Reads the states of queues. After a failure it waits, and counts all as open: the next take fails, too. */
  async #readStates(queues: readonly string[], classes: string, signal: AbortSignal): Promise<QueueStates> {
    if (queues.length === 0) return { closed: [], groups: [] };
    try {
      const { client, offset } = this.#context;
      const reply = await client.run(SCRIPTS.readBlockedQueues, {
        ...{ now: offset(), classes, names: [ALL_QUEUES, ...queues] },
      });
      const [closed, groups] = reply as [number[], number[]];
      return { closed, groups };
    } catch {
      await this.#context.client.clock.sleep(RETRY_MS, signal);
      return { closed: queues.map(() => 0), groups: queues.map(() => -1) };
    }
  }
}

/** A queue that has waiters, or had some a moment ago. */
class WatchedQueue {
  readonly #key: string;
  readonly #client: ReconnectingClient;
  readonly #blockS: number;
  readonly #onEnd: () => void;
  readonly #end = new AbortController();
  readonly #waiting = new Set<() => void>();
  #running = false;
  #arrival: AbortController | undefined;

  constructor(queue: string, client: ReconnectingClient, blockS: number, onEnd: () => void) {
    this.#key = queueKey(queue);
    this.#client = client;
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
    void this.#client.close();
  }

  async #run(): Promise<void> {
    this.#running = true;
    do {
      try {
        const job = await this.#client.call(["BLMOVE", this.#key, this.#key, "RIGHT", "RIGHT", `${this.#blockS}`]);
        if (job !== null) this.#wakeAll();
      } catch {
        await this.#client.clock.sleep(RETRY_MS, this.#end.signal);
        this.#wakeAll();
      }
      if (this.#waiting.size === 0) await this.#idle();
    } while (this.#waiting.size > 0 && !this.#end.signal.aborted);
    this.#onEnd();
    await this.#client.close();
  }

  /** Keeps the connection for a while, for the next wait. */
  async #idle(): Promise<void> {
    this.#arrival = new AbortController();
    await this.#client.clock.sleep(this.#blockS * 1_000, AbortSignal.any([this.#arrival.signal, this.#end.signal]));
    this.#arrival = undefined;
  }

  #wakeAll(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
