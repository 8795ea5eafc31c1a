/**
 * Suspects: jobs that may have killed another worker (`job/suspicion.ts`). They start one at a time, so that the job to blame is
 * known if this worker dies, too.
 *
 *  1. A suspect is recorded in the store before it starts. No other job starts in the second before and in the second after,
 *     unless the suspect ends sooner: most jobs that kill their worker do so at once.
 *  2. After that second other jobs start, which is also recorded in the store.
 *  3. A job that has been suspected twice doesn't run together with other suspects. These are snoozed until it has ended. If
 *     they returned to the front of their queue, this worker would take them again.
 *
 * Isolated jobs cannot kill the worker: they start like any other. A program in another runtime must ask for jobs once more before
 * a suspect is recorded: a program that is frozen while it waits for jobs never begins the suspect, and isn't killed by it. The suspect
 * is recorded as one that runs next to others, which counts half, until the program confirms that it begins it: it may die before.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { parsePayload } from "../../job/job.ts";
import { suspicionLevel } from "../../job/suspicion.ts";
import type { Log } from "../../log/log.ts";
import type { Lease } from "../../store/port/jobs.ts";
import type { WorkerStore } from "../../store/port/workers.ts";
import type { OutageLog } from "../outage_log.ts";

const NAME = "suspects";
/** No other job starts for this long before and after a suspect. */
const ALONE_MS = 1_000;
/** The delay of a suspect that must not run together with another one, before jitter. */
const SNOOZE_MS = 10_000;
/** Pause after the store has failed. */
const RETRY_MS = 500;

export interface SuspectsOptions {
  readonly store: { readonly workers: Pick<WorkerStore, "note"> };
  readonly worker: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly outage: OutageLog;
  /** Returns whether jobs of a class are isolated. */
  readonly isIsolated: (className: string) => boolean;
  /** The program that runs the jobs. Absent if that is this process. */
  readonly program?: {
    /** Resolves when it has shown that it isn't frozen. */
    awake(): Promise<void>;
    /** Whether it runs the job already: another process performed the worker's part before. */
    runs(token: string): boolean;
  } | undefined;
}

/** When a job may start: now; later (`onChange` is called then); or after this many milliseconds in `scheduled`. */
export type Admission = "now" | "wait" | { readonly snoozeMs: number };

interface Starting {
  readonly token: string;
  readonly over: AbortController;
}

export class Suspects {
  readonly #options: SuspectsOptions;
  /** Called when a job that had to wait may start. */
  #onChange = () => {};
  /** Running suspects, by token: whether no other suspect may run together with them. */
  readonly #running = new Map<string, boolean>();
  /** Whether no other job may start: a suspect is about to start, or has just started. */
  #isClosed = false;
  /** Whether it isn't known yet that a program can start the suspect. */
  #isAsleep = false;
  /** The suspect that may start now. */
  #admitted: string | undefined;
  /** The suspect that has just started. `over` ends the second after its start. */
  #starting: Starting | undefined;
  /** The suspect that a program was given last. The program hasn't confirmed that it begins it, and no other job has started since. */
  #unconfirmed: string | undefined;
  #confirming: Promise<void> | undefined;
  /** Whether other jobs have started since the last suspect. */
  #haveOthersStarted = false;
  /** Whether the store has recorded that only suspects run. */
  #isRecordedAlone = false;

  constructor(options: SuspectsOptions) {
    this.#options = options;
  }

  /** Sets the function that is called when a job that had to wait may start. */
  set onChange(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Whether a suspect is about to start. It must not be released. */
  get admitting(): boolean {
    return this.#isClosed && !this.#isAsleep && this.#starting === undefined;
  }

  /** Returns whether the oldest job in the buffer may start. After `now` it has started: {@linkcode ended} must follow. */
  admit(lease: Lease): Admission {
    if (this.#options.program?.runs(lease.token)) return this.#continue(lease);
    if (this.#admitted !== undefined) {
      if (this.#admitted === lease.token) return this.#start(lease);
      // The admitted job was released or lost.
      this.#admitted = undefined;
      this.#isClosed = false;
    }
    if (this.#isClosed) return "wait";
    const level = this.#levelOf(lease);
    if (level === 0) {
      if (this.#running.size > 0 && this.#isRecordedAlone) return this.#wait(() => this.#recordOthersRun());
      this.#haveOthersStarted = true;
      this.#unconfirmed = undefined;
      return "now";
    }
    const isBarred = level === 2 ? this.#running.size > 0 : [...this.#running.values()].includes(true);
    if (isBarred) return { snoozeMs: SNOOZE_MS * (0.5 + Math.random()) };
    return this.#wait(() => this.#recordThenAdmit(lease));
  }

  /** Records that an admitted job has ended. */
  ended({ token }: Lease): void {
    if (!this.#running.delete(token) || this.#starting?.token !== token) return;
    this.#starting.over.abort();
  }

  /**
   * Receives which jobs a program has, or is about to begin. Resolves when the store has recorded that a suspect among them runs alone.
   *
   * @throws {StoreError}
   */
  async confirm(tokens: readonly string[]): Promise<void> {
    const token = this.#unconfirmed;
    if (token === undefined || !tokens.includes(token) || !this.#running.has(token)) return;
    await (this.#confirming ??= this.#recordBegun(token).finally(() => this.#confirming = undefined));
  }

  #levelOf({ payload }: Lease): 0 | 1 | 2 {
    const level = suspicionLevel(payload);
    if (level === 0) return 0;
    const job = parsePayload(payload);
    return job === undefined || this.#options.isIsolated(job.class) ? 0 : level;
  }

  /** A job that runs already can't wait, nor be snoozed. */
  #continue(lease: Lease): "now" {
    const level = this.#levelOf(lease);
    if (level === 0) return "now";
    this.#running.set(lease.token, level === 2);
    // If it isn't noted, the next note has it.
    void this.#note(false).catch(() => {});
    return "now";
  }

  #start({ token, payload }: Lease): "now" {
    this.#admitted = undefined;
    this.#running.set(token, suspicionLevel(payload) === 2);
    this.#openLater(this.#hold(token));
    return "now";
  }

  /** Prevents other jobs from starting until the second after the start of this one is over. */
  #hold(token: string): Starting {
    this.#isClosed = true;
    return this.#starting = { token, over: new AbortController() };
  }

  #openLater(starting: Starting): void {
    void this.#options.clock.sleep(ALONE_MS, starting.over.signal).then(() => {
      // It has been confirmed since: its second begins again.
      if (this.#starting !== starting) return;
      this.#starting = undefined;
      this.#open();
    });
  }

  /** Prevents jobs from starting until the store has recorded the next start. */
  #wait(record: () => Promise<void>): "wait" {
    this.#isClosed = true;
    void this.#record(record);
    return "wait";
  }

  /** Records a start. After a failure, the next {@linkcode admit} retries it. */
  async #record(record: () => Promise<void>): Promise<void> {
    const { clock, log, outage } = this.#options;
    try {
      await record();
      const level = outage.over(NAME);
      if (level !== undefined) log[level]("Suspects are noted again");
    } catch (error) {
      if (!outage.has(NAME)) {
        log[outage.met(NAME, error)]("Suspects not noted, retrying", { error: (error as Error).message });
      }
      await clock.sleep(RETRY_MS);
      this.#open();
    }
  }

  async #recordThenAdmit({ token, payload, queue }: Lease): Promise<void> {
    const { clock, log, program } = this.#options;
    if (this.#haveOthersStarted) await clock.sleep(ALONE_MS);
    if (program !== undefined) {
      this.#isAsleep = true;
      await program.awake();
      this.#isAsleep = false;
    }
    this.#haveOthersStarted = false;
    await this.#note(program === undefined, token);
    this.#unconfirmed = program && token;
    const job = parsePayload(payload)!;
    const { rescues, suspected } = job.payload;
    log.info("Starting a suspect: a worker died while it may have been running", {
      ...{ class: job.class, jid: job.jid, queue, suspected },
      ...(rescues !== undefined && { rescues }),
    });
    this.#admitted = token;
    this.#onChange();
  }

  async #recordBegun(token: string): Promise<void> {
    // Another suspect is about to start: if the program dies now, either of them may be to blame.
    if (this.#isClosed && this.#starting?.token !== token) return;
    const starting = this.#hold(token);
    try {
      await this.#note(true);
      this.#unconfirmed = undefined;
    } finally {
      this.#openLater(starting);
    }
  }

  async #recordOthersRun(): Promise<void> {
    await this.#note(false);
    this.#open();
  }

  /** Records the running suspects, with those that start now. */
  async #note(alone: boolean, ...starting: readonly string[]): Promise<void> {
    const { worker, store } = this.#options;
    await store.workers.note(worker, { running: { tokens: [...this.#running.keys(), ...starting], alone } });
    this.#isRecordedAlone = alone;
  }

  #open(): void {
    this.#isClosed = false;
    this.#onChange();
  }
}
