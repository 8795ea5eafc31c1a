/**
 * The suspects of a worker: jobs that may have killed another one (`job/suspicion.ts`). They start one at a time, so that it
 * is known which job is to blame if this worker dies, too.
 *
 *  1. Before a suspect starts, the store is told so. Nothing else starts in the second before and the second after, unless
 *     the suspect ends sooner: most jobs that kill their worker do so at once.
 *  2. After that second other jobs start beside it, and the store is told that, too.
 *  3. A job that has come under suspicion twice runs beside no other suspect, until it ends. Others are snoozed meanwhile:
 *     at the front of their queue this worker would only take them again.
 *
 * Jobs that run in processes of their own cannot kill the worker: they start like any other.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { parsePayload } from "../../job/job.ts";
import { suspicionLevel } from "../../job/suspicion.ts";
import type { Log } from "../../log/log.ts";
import type { Lease } from "../../store/port/jobs.ts";
import type { OutageLog } from "../component.ts";
import type { WorkerStore } from "../../store/port/workers.ts";

const NAME = "suspects";
/** For this long nothing else starts, before a suspect and after. */
const ALONE_MS = 1_000;
/** A suspect that may not run beside another one is tried again after this time, with jitter. */
const SNOOZE_MS = 10_000;
/** After the store has failed. */
const RETRY_MS = 500;

/** What {@linkcode Suspects} is made with. */
export interface SuspectsOptions {
  readonly store: { readonly workers: Pick<WorkerStore, "noteSuspects"> };
  readonly owner: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly outage: OutageLog;
  /** Whether jobs of a class run in processes of their own. */
  readonly isIsolated: (className: string) => boolean;
}

/** Whether a job may start: now, later (ask again when told so), or after this many milliseconds in `scheduled`. */
export type Admission = "now" | "wait" | { readonly snoozeMs: number };

/** Decides when a job may start. */
export class Suspects {
  readonly #options: SuspectsOptions;
  /** Called when a job that had to wait may be asked for again. */
  #onChange = () => {};
  /** By token, those that run: whether no other may run beside them. */
  readonly #running = new Map<string, boolean>();
  /** A suspect is about to start, or has just started: no other job starts. */
  #closed = false;
  /** The one that may start now. */
  #admitted: string | undefined;
  /** Ends the second after its start. */
  #starting: { readonly token: string; readonly over: AbortController } | undefined;
  /** Others have started lately, or may have. */
  #mingled = false;
  /** The store knows of no other job beside those that run. */
  #notedAlone = false;

  constructor(options: SuspectsOptions) {
    this.#options = options;
  }

  /** Sets what is called when a job that had to wait may be asked for again. */
  set onChange(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Whether a suspect is about to start: it must not be given back now. */
  get admitting(): boolean {
    return this.#closed && this.#starting === undefined;
  }

  /** Whether the oldest job at hand may start. After `now` it has started; {@linkcode ended} must follow. */
  admit(lease: Lease): Admission {
    if (this.#admitted !== undefined) {
      if (this.#admitted === lease.token) return this.#start(lease);
      // That one was given back or lost.
      this.#admitted = undefined;
      this.#closed = false;
    }
    if (this.#closed) return "wait";
    const level = this.#levelOf(lease);
    if (level === 0) {
      if (this.#running.size > 0 && this.#notedAlone) return this.#wait(() => this.#noteCompany());
      this.#mingled = true;
      return "now";
    }
    const isBarred = level === 2 ? this.#running.size > 0 : [...this.#running.values()].includes(true);
    if (isBarred) return { snoozeMs: SNOOZE_MS * (0.5 + Math.random()) };
    return this.#wait(() => this.#announce(lease));
  }

  /** A job that was admitted has ended, however it did. */
  ended({ token }: Lease): void {
    if (!this.#running.delete(token) || this.#starting?.token !== token) return;
    this.#starting.over.abort();
  }

  #levelOf({ payload }: Lease): 0 | 1 | 2 {
    const level = suspicionLevel(payload);
    if (level === 0) return 0;
    const job = parsePayload(payload);
    return job === undefined || this.#options.isIsolated(job.class) ? 0 : level;
  }

  #start({ token, payload }: Lease): "now" {
    this.#admitted = undefined;
    this.#running.set(token, suspicionLevel(payload) === 2);
    const over = new AbortController();
    this.#starting = { token, over };
    void this.#options.clock.sleep(ALONE_MS, over.signal).then(() => {
      this.#starting = undefined;
      this.#open();
    });
    return "now";
  }

  /** Nothing starts until this is done. */
  #wait(what: () => Promise<void>): "wait" {
    this.#closed = true;
    void this.#insist(what);
    return "wait";
  }

  async #insist(what: () => Promise<void>): Promise<void> {
    const { clock, log, outage } = this.#options;
    try {
      await what();
      const level = outage.over(NAME);
      if (level !== undefined) log[level]("Suspects are noted again");
    } catch (error) {
      if (!outage.has(NAME)) {
        log[outage.met(NAME, error)]("Suspects not noted, trying again", { error: (error as Error).message });
      }
      await clock.sleep(RETRY_MS);
      this.#open();
    }
  }

  async #announce({ token, payload, queue }: Lease): Promise<void> {
    const { clock, log, owner, store } = this.#options;
    if (this.#mingled) await clock.sleep(ALONE_MS);
    this.#mingled = false;
    await store.workers.noteSuspects(owner, { tokens: [...this.#running.keys(), token], alone: true });
    this.#notedAlone = true;
    const job = parsePayload(payload)!;
    const { rescues, suspected } = job.payload;
    log.info("Starting a suspect: a worker died while it may have been running", {
      ...{ class: job.class, jid: job.jid, queue, suspected },
      ...(rescues !== undefined && { rescues }),
    });
    this.#admitted = token;
    this.#onChange();
  }

  async #noteCompany(): Promise<void> {
    const { owner, store } = this.#options;
    await store.workers.noteSuspects(owner, { tokens: [...this.#running.keys()], alone: false });
    this.#notedAlone = false;
    this.#open();
  }

  #open(): void {
    this.#closed = false;
    this.#onChange();
  }
}
