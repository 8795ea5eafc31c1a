/**
 * The announcer: makes the jobs of webhooks that follow from what a worker ends. They are stored with that end. It also tells the store
 * for how long to record events, and to drop old ones.
 *
 * It knows the subscriptions as the store had them up to {@linkcode REFRESH_MS} ago: another worker may have started with others.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { JidMaker } from "../../job/jid.ts";
import type { Job } from "../../job/job.ts";
import {
  deliveriesOf,
  type JobEnd,
  jobNotice,
  type Notice,
  type Subject,
  type Subscription,
} from "../../job/webhook.ts";
import type { EndedFacts, EndListener } from "../../store/ops/outcome.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { EventStore } from "../../store/port/events.ts";
import type { NewJob } from "../../store/port/jobs.ts";
import type { WebhookStore } from "../../store/port/webhooks.ts";
import type { HeartbeatReply } from "../../store/port/workers.ts";
import type { Log } from "../../log/log.ts";
import type { LoopBody } from "../component.ts";
import type { HeartbeatListener } from "../liveness/heartbeat.ts";

/** How late a worker notices other subscriptions. */
const REFRESH_MS = 15_000;

export interface AnnouncerOptions {
  readonly store: { readonly webhooks: WebhookStore; readonly events: Pick<EventStore, "keep"> };
  readonly clock: Clock;
  /** The worker that declares the subscriptions: they end with it. Default: they belong to no worker. */
  readonly worker?: string | undefined;
  readonly log?: Log | undefined;
  /** The subscriptions of this worker's configuration, which join those of other workers. Default: none are configured. */
  readonly configured?: readonly Subscription[] | undefined;
  /** How long the store keeps events. Default 0: it records them while there are readers. */
  readonly eventTtlMs?: number | undefined;
}

export class Announcer implements LoopBody<void>, EndListener, HeartbeatListener {
  readonly name = "announcer";
  readonly #options: AnnouncerOptions;
  readonly #ids = new JidMaker();
  readonly #known = Promise.withResolvers<void>();
  #subscriptions: readonly Subscription[] = [];
  #isDeclared = false;
  /** The subscriptions in force that aren't those of this worker, as JSON. */
  #others = "[]";
  /** Ends the current rest. */
  #resting = new AbortController();
  #freshUntil = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  /** Resolves when the subscriptions are known, or when the store refuses to tell them: an end that comes earlier would be missed. */
  get known(): Promise<void> {
    return this.#known.promise;
  }

  async step(): Promise<void> {
    const { store: { webhooks, events }, configured, clock, worker, eventTtlMs = 0 } = this.#options;
    try {
      if (configured !== undefined && !this.#isDeclared) await webhooks.declare(configured, worker);
      this.#isDeclared = true;
      this.#subscriptions = await webhooks.read();
      this.#known.resolve();
      this.#compare();
      await events.keep(eventTtlMs);
      this.#freshUntil = clock.monotonic() + REFRESH_MS;
    } catch (error) {
      if (!(error instanceof StoreError && error.transient)) this.#known.resolve();
      throw error;
    }
  }

  /** Declares the subscriptions again if the store has withdrawn them because this worker was offline. */
  beat({ lapsed }: Pick<HeartbeatReply, "lapsed">): void {
    if (!lapsed) return;
    this.#isDeclared = false;
    this.#resting.abort();
  }

  /** Logs the webhooks in which the workers differ, once for each difference. */
  #compare(): void {
    const { configured, log } = this.#options;
    if (configured === undefined) return;
    const own = new Map(configured.map((one) => [one.name, JSON.stringify(one)]));
    const others = this.#subscriptions.filter((one) => own.get(one.name) !== JSON.stringify(one));
    const text = JSON.stringify(others);
    if (text === this.#others) return;
    this.#others = text;
    if (others.length === 0) return;
    log?.warn("Webhooks differ between workers", { inForce: others.map(({ name }) => name).join(" ") });
  }

  /** Reads the subscriptions, unless it did so shortly before: for a process whose workers have no loop. */
  async keepFresh(): Promise<void> {
    if (this.#options.clock.monotonic() < this.#freshUntil) return;
    await (this.#reading ??= this.step().finally(() => this.#reading = undefined));
  }

  rest(_result: void, signal: AbortSignal): Promise<void> {
    this.#resting = new AbortController();
    return this.#options.clock.sleep(REFRESH_MS, AbortSignal.any([signal, this.#resting.signal]));
  }

  /** Returns the jobs that follow from the end of a job; undefined if none do. */
  follow(job: Job, type: JobEnd, facts: () => EndedFacts): readonly NewJob[] | undefined {
    if (this.#subscriptions.length === 0) return undefined;
    const { error, result } = facts();
    const at = this.#options.clock.now();
    return this.#deliveries(...jobNotice(job, { id: this.#ids.next(at), type, at, error, result }));
  }

  /** Returns the jobs that follow from something else; undefined if none do. */
  followEvent({ type, data }: Pick<Notice, "type" | "data">, subject: Subject): readonly NewJob[] | undefined {
    if (this.#subscriptions.length === 0) return undefined;
    const at = this.#options.clock.now();
    return this.#deliveries({ id: this.#ids.next(at), type, at, data }, subject);
  }

  #deliveries(notice: Notice, subject: Subject): readonly NewJob[] | undefined {
    const deliveries = deliveriesOf(this.#subscriptions, notice, subject);
    return deliveries.length === 0 ? undefined : deliveries;
  }
}
