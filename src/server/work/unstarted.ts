/**
 * Unstarted jobs: jobs that this worker has taken and not started. They are shared with the heartbeat's thread: while a handler
 * blocks the event loop, the thread returns them to their queues (`liveness/heartbeat_worker.ts`), so that other workers perform them.
 *
 * Exactly one side has each job: the one that claims it first in shared memory (`unstarted_memory.ts`). The main side claims
 * a job right before it starts, or before it releases the job.
 *
 * Where the job is at each step: it stays a lease of this worker until the store has taken it back. If the process dies
 * before that, the job is rescued.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import type { Lease } from "../../store/port/jobs.ts";
import { UnstartedMemory } from "./unstarted_memory.ts";

/** In place of a slot: the job is not shared. */
const NOT_SHARED = -1;
/** In place of a slot: the job was handed out, and has been dropped or released since. */
const WITHDRAWN = -2;

/** A job that has not started. */
export interface Unstarted extends Lease {
  /** The index of its slot in the shared memory. */
  slot: number;
}

/** The main thread's side: all jobs that have not started, also those that the thread has claimed. */
export class UnstartedJobs {
  /** Jobs that wait here, oldest first, from `#head` on. */
  #waiting: Unstarted[] = [];
  #head = 0;
  /** Jobs that idle processors are about to start. */
  readonly #handed = new Set<Unstarted>();
  /** The slots of jobs that the thread is returning, by token. */
  readonly #returning = new Map<string, number>();
  /** Undefined while no thread runs. */
  #memory: UnstartedMemory | undefined;
  /** Free slots. The last one is used next, so that little memory is touched. */
  #free: number[] = [];
  #wakeThread = () => {};
  /** Counts the jobs that were shared, so that the thread returns them in the order of taking. */
  #order = 0;

  /** Whether the thread was asked to take no more jobs, while the event loop couldn't act on it. */
  get isQuietAsked(): boolean {
    return this.#memory?.isQuietAsked ?? false;
  }

  /** Forgets such a request: the worker takes jobs again. */
  forgetQuiet(): void {
    this.#memory?.askQuiet(false);
  }

  /** Number of jobs that wait here. */
  get size(): number {
    return this.#waiting.length - this.#head;
  }

  /** Number of all jobs: those that wait, are about to start, or are being returned by the thread. */
  get total(): number {
    return this.size + this.#handed.size + this.#returning.size;
  }

  /** The tokens of jobs that the thread doesn't have. */
  get tokens(): string[] {
    return this.#all().filter((job) => this.#isHere(job)).map(({ token }) => token);
  }

  /** Adds leases that were taken after all others. */
  add(leases: readonly Lease[]): void {
    const jobs = leases.map(({ token, queue, payload, cancelled, since }): Unstarted => {
      const job = { token, queue, payload, slot: NOT_SHARED };
      return cancelled ? { ...job, cancelled } : since === undefined ? job : { ...job, since };
    });
    this.#share(jobs);
    this.#waiting = this.size === 0 ? jobs : [...this.#waiting.slice(this.#head), ...jobs];
    this.#head = 0;
  }

  /** Returns the oldest job that waits. */
  first(): Unstarted | undefined {
    for (; this.#head < this.#waiting.length; this.#head++) {
      const job = this.#waiting[this.#head]!;
      if (this.#isHere(job)) return job;
      this.#returning.set(job.token, job.slot);
    }
  }

  /** Hands out the job that {@linkcode first} has returned. {@linkcode begin} must follow at once, or {@linkcode beginLater}. */
  hand(): Unstarted {
    return this.#waiting[this.#head++]!;
  }

  /** Records that {@linkcode begin} follows in a later turn. */
  beginLater(job: Unstarted): void {
    this.#handed.add(job);
  }

  /** Returns whether a job that was handed out may start, and then counts it as started. False if it is no longer here. */
  begin(job: Unstarted): boolean {
    if (this.#handed.size > 0) this.#handed.delete(job);
    return job.slot !== WITHDRAWN && this.#keep(job);
  }

  /** Puts a job back that was handed out, before all others. */
  putBack(job: Unstarted): void {
    this.#handed.delete(job);
    if (job.slot === WITHDRAWN) return;
    this.#waiting = [job, ...this.#waiting.slice(this.#head)];
    this.#head = 0;
  }

  /** Removes a job; undefined if it does not wait here. */
  withdraw(jid: string): Lease | undefined {
    let found = false;
    return this.#remove(({ payload }) => !found && (found = getField(payload, "jid") === jid))[0];
  }

  /** Removes the jobs with these tokens, also if they are about to start. */
  drop(tokens: ReadonlySet<string>): Lease[] {
    const handed = this.#takeHanded(tokens).filter((job) => this.#keep(job));
    for (const job of handed) job.slot = WITHDRAWN;
    return [...handed, ...this.#remove(({ token }) => tokens.has(token))];
  }

  /** Removes all waiting jobs, oldest first. */
  clear(): Lease[] {
    return this.#remove(() => true);
  }

  /** Records that the thread has returned these jobs. */
  returned(tokens: readonly string[]): void {
    const gone = new Set(tokens);
    for (const { token, slot } of this.#all()) if (gone.has(token)) this.#returning.set(token, slot);
    for (const job of this.#takeHanded(gone)) job.slot = WITHDRAWN;
    this.#waiting = this.#waiting.slice(this.#head).filter(({ token }) => !gone.has(token));
    this.#head = 0;
    for (const token of tokens) {
      const slot = this.#returning.get(token);
      if (slot !== undefined) this.#free.push(slot);
      this.#returning.delete(token);
    }
  }

  /**
   * Shares all jobs with a thread from now on. The thread begins by watching.
   *
   * @param wake wakes up a thread that doesn't watch, because jobs wait
   * @returns the memory, to be passed to the thread
   */
  attach(wake: () => void): SharedArrayBuffer {
    const memory = this.#memory = new UnstartedMemory();
    this.#wakeThread = wake;
    this.#free = Array.from({ length: memory.slots }, (_, slot) => slot);
    this.#share(this.#all());
    return memory.buffer;
  }

  /**
   * Stops sharing, because the thread has ended.
   *
   * @returns the tokens of jobs that the thread had claimed, and may or may not have returned
   */
  detach(): string[] {
    const all = this.#all();
    const unsure = all.filter((job) => !this.#keep(job)).map(({ token }) => token);
    const tokens = [...new Set([...this.#returning.keys(), ...unsure])];
    this.returned(tokens);
    this.#memory = undefined;
    return tokens;
  }

  #all(): Unstarted[] {
    return [...this.#handed, ...this.#waiting.slice(this.#head)];
  }

  #takeHanded(tokens: ReadonlySet<string>): Unstarted[] {
    const taken = [...this.#handed].filter(({ token }) => tokens.has(token));
    for (const job of taken) this.#handed.delete(job);
    return taken;
  }

  #share(jobs: readonly Unstarted[]): void {
    if (this.#memory === undefined) return;
    for (const job of jobs) {
      this.#order++;
      if (!UnstartedMemory.fits(job.token)) continue;
      const slot = this.#free.pop();
      if (slot === undefined) break;
      job.slot = slot;
      this.#memory.share(slot, job.token, this.#order);
    }
    if (this.#memory.wake()) this.#wakeThread();
  }

  /** Removes waiting jobs that match, unless the thread has them. */
  #remove(fits: (job: Lease) => boolean): Lease[] {
    const removed: Lease[] = [];
    this.#waiting = this.#waiting.slice(this.#head).filter((job) => {
      if (!fits(job)) return true;
      if (this.#keep(job)) removed.push(job);
      return false;
    });
    this.#head = 0;
    return removed;
  }

  #isHere({ slot }: Unstarted): boolean {
    return slot === NOT_SHARED || this.#memory!.isWaiting(slot);
  }

  /** Claims a job for this side. Returns false if the thread has claimed it. */
  #keep(job: Unstarted): boolean {
    const { slot } = job;
    if (slot === NOT_SHARED) return true;
    if (!this.#memory!.keep(slot)) {
      this.#returning.set(job.token, slot);
      return false;
    }
    this.#free.push(slot);
    job.slot = NOT_SHARED;
    return true;
  }
}
