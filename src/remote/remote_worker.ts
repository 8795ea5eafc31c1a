/**
 * A worker whose handlers run in another program: in Node, Python, or any other runtime that speaks HTTP.
 *
 * Everything that decides is that of a local worker: this is a {@linkcode Launcher} whose handlers wait for the program. A processor
 * that has begun a job offers it; the program takes it, and sends its end. The heartbeat follows the program's: if the program dies or
 * is cut off, the heartbeat expires in the store, and its jobs are rescued as those of any worker.
 *
 * Where the job is at each step: a lease of this worker in the store, until its outcome is stored. If the program never receives an
 * answer, it asks again with the same number, and receives the same jobs. If this process dies, the jobs are rescued.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { defaultSettings, type Settings } from "../config/settings.ts";
import type { JobContext } from "../handlers/context.ts";
import { RemoteError } from "../handlers/isolation/remote_error.ts";
import { Registry } from "../handlers/registry.ts";
import { Discard, Kill, Snooze } from "../job/errors.ts";
import { Released } from "../steps/errors.ts";
import { Launcher } from "../server/launcher.ts";
import type { Lease } from "../store/port/jobs.ts";
import type { ServerStore } from "../store/port/store.ts";
import type { End, GivenJob, Orders, Program, Report } from "./program.ts";
import { RemoteJob } from "./remote_job.ts";

export interface RemoteWorkerOptions {
  readonly store: ServerStore;
  /** Those of this process; what concerns a single worker is the program's. */
  readonly settings: Settings;
  readonly clock: Clock;
  readonly program: Program;
  /** The jobs that the program runs already. */
  readonly given: readonly GivenJob[];
}

/** The settings of this process that hold for every worker. */
const SHARED = [
  "heartbeatMs",
  "heartbeatTimeoutMs",
  "maxRetries",
  "sidekiqWire",
  "resultTtlMs",
  "succeededTtlMs",
  "failureTtlMs",
  "maxResultBytes",
  "maxPayloadBytes",
  "killAfterMs",
  "maxRescues",
  "shutdownTimeoutMs",
] as const satisfies readonly (keyof Settings)[];

/** A job that a program ran before begins within this time. */
const MAX_BEGIN_MS = 1_000;

export class RemoteWorker {
  readonly program: Program;
  readonly #clock: Clock;
  readonly #launcher: Launcher;
  readonly #killAfterMs: number;
  /** Begun and not taken by the program, oldest first. */
  #offered: RemoteJob[] = [];
  readonly #running = new Map<string, RemoteJob>();
  /** The tokens of the jobs that the program ran before. */
  #adopted: ReadonlySet<string> = new Set();
  /** Aborts when all of them have begun. */
  readonly #adoption = new AbortController();
  /** The last answer, which may have been lost. */
  #last: { readonly number: number; readonly jobs: Promise<readonly RemoteJob[]> } | undefined;
  #waiting: (() => void) | undefined;
  /** Called when the program must know something. */
  #onNews: (() => void) | undefined;
  #rss = 0;
  #heardAt: number;
  #isStopping = false;

  constructor({ store, settings, clock, program, given }: RemoteWorkerOptions) {
    this.program = program;
    this.#clock = clock;
    this.#heardAt = clock.monotonic();
    this.#killAfterMs = settings.killAfterMs;
    const registry = new Registry();
    const perform = (job: JobContext) => this.#perform(job);
    for (const [name, options] of Object.entries(program.classes)) {
      registry.add(name, perform, options, program.version);
    }
    const { id, hostname, pid, version, concurrency, labels, queues } = program;
    this.#launcher = new Launcher({
      ...{ store, registry, clock, storeUrl: store.url },
      guest: { id, hostname, pid, version, rss: () => this.#rss, adopt: () => this.#adopt(store, given) },
      settings: {
        ...defaultSettings(),
        ...Object.fromEntries(SHARED.map((name) => [name, settings[name]])),
        ...{ concurrency, labels, queues: queues.map((name) => ({ name, weight: 0 })) },
      } as Settings,
      onStopping: () => {
        this.#isStopping = true;
        this.#onNews?.();
        this.#waiting?.();
      },
    });
  }

  /** Milliseconds since the program was last heard. */
  get silentMs(): number {
    return this.#clock.monotonic() - this.#heardAt;
  }

  /** Resolves when it has stopped. */
  get finished(): Promise<void> {
    return this.#launcher.finished;
  }

  /**
   * Resolves when it takes jobs, and those that the program ran before have begun here: their ends may arrive at once.
   *
   * @throws {StoreError} if the store doesn't accept it
   */
  async start(): Promise<void> {
    await this.#launcher.start();
    // One that was cancelled or has expired meanwhile doesn't begin.
    if (this.#adopted.size > 0) await this.#clock.sleep(MAX_BEGIN_MS, this.#adoption.signal);
  }

  /**
   * Returns jobs for the program: those that are offered, or else the first ones within a time.
   *
   * @param take numbers the request: the same number again returns the same jobs
   */
  take(take: number, limit: number, waitMs: number, signal: AbortSignal): Promise<readonly RemoteJob[]> {
    this.#heard();
    if (this.#last?.number !== take) this.#last = { number: take, jobs: this.#take(limit, waitMs, signal) };
    return this.#last.jobs;
  }

  /** Ends jobs. Returns the tokens of those that are no longer the program's. Resolves when the others are stored. */
  async settle(ends: readonly End[]): Promise<readonly string[]> {
    this.#heard();
    const lost: string[] = [];
    for (const end of ends) {
      const job = this.#running.get(end.token);
      if (job === undefined || job.isOver) lost.push(end.token);
      else {
        this.#note(end);
        endJob(job, end);
      }
    }
    // The processors learn it in this turn.
    await this.#clock.turn();
    await this.#launcher.flush();
    return lost;
  }

  /**
   * Sends the program's heartbeat to the store, and returns what the program must know.
   *
   * @param waitMs how long to wait for something that it must know
   */
  async beat(
    reports: readonly Report[],
    { rss, waitMs, signal }: { readonly rss: number; readonly waitMs: number; readonly signal: AbortSignal },
  ): Promise<Orders> {
    this.#heard();
    this.#rss = rss;
    for (const report of reports) this.#note(report);
    await this.#launcher.beat();
    const orders = this.#orders(reports);
    if (waitMs === 0 || orders.aborted.length > 0 || orders.lost.length > 0 || orders.stopping) return orders;
    const news = new AbortController();
    this.#onNews = () => news.abort();
    await this.#clock.sleep(waitMs, AbortSignal.any([signal, news.signal]));
    return this.#orders(reports);
  }

  /** Stops: the program has nothing left, or gives back what it has. */
  async stop(): Promise<void> {
    this.#launcher.inbox.put({ verb: "stop", by: "the program" });
    this.#launcher.inbox.put({ verb: "stop", by: "the program" });
    await this.#launcher.finished;
  }

  /** The jobs of the program that it ran before, and still has. */
  get adopted(): readonly string[] {
    return [...this.#adopted];
  }

  /** The program is gone. The jobs that it didn't get return to their queues. */
  async die(): Promise<void> {
    this.#isStopping = true;
    for (const job of this.#offered) job.fail(new Released());
    await this.#clock.turn();
    await this.#launcher.quiet();
    await this.#launcher.die();
  }

  /** Keeps the leases of jobs that the program runs. The others were lost on their way to it: they return to their queues. */
  async #adopt({ jobs }: ServerStore, given: readonly GivenJob[]): Promise<readonly Lease[]> {
    const { id } = this.program;
    const leased = new Set(await jobs.stillLeased(id));
    const kept = given.filter(({ token }) => leased.delete(token));
    if (leased.size > 0) await jobs.settle(id, [...leased].map((token) => ({ kind: "release", token })));
    this.#adopted = new Set(kept.map(({ token }) => token));
    return kept;
  }

  #note({ token, progress, log = [] }: Report): void {
    const job = this.#running.get(token)?.job;
    if (progress) job?.progress(progress.done, progress.note);
    for (const { level, message } of log) job?.log[level](message);
  }

  #heard(): void {
    this.#heardAt = this.#clock.monotonic();
  }

  #orders(reports: readonly Report[]): Orders {
    const aborted = [...this.#running.values()].flatMap(({ token, abortedBy, isOver }) =>
      abortedBy === undefined || isOver ? [] : [{ token, reason: abortedBy }]
    );
    const lost = reports.map(({ token }) => token).filter((token) => this.#running.get(token)?.isOver !== false);
    return { aborted, lost, quiet: this.#launcher.describe().quiet, stopping: this.#isStopping };
  }

  async #take(limit: number, waitMs: number, signal: AbortSignal): Promise<readonly RemoteJob[]> {
    if (this.#offered.length === 0 && waitMs > 0 && !this.#isStopping) {
      const offered = new AbortController();
      this.#waiting?.();
      this.#waiting = () => offered.abort();
      await this.#clock.sleep(waitMs, AbortSignal.any([signal, offered.signal]));
    }
    // The program is gone: the jobs wait for the next request.
    if (signal.aborted) return [];
    const jobs = this.#offered.splice(0, limit);
    for (const job of jobs) this.#running.set(job.token, job);
    return jobs;
  }

  /** The handler of every class. */
  async #perform(context: JobContext): Promise<unknown> {
    const job = new RemoteJob(context);
    const ended = new AbortController();
    const onAbort = () => {
      this.#onNews?.();
      void this.#endAborted(job, ended.signal);
    };
    context.signal.addEventListener("abort", onAbort, { once: true });
    if (this.#adopted.has(job.token)) {
      this.#running.set(job.token, job);
      if (this.#running.size === this.#adopted.size) this.#adoption.abort();
    } else this.#offered.push(job);
    // The jobs that begin in this turn are taken together.
    void this.#clock.turn().then(() => this.#waiting?.());
    try {
      return await job.ended;
    } finally {
      ended.abort();
      context.signal.removeEventListener("abort", onAbort);
      this.#running.delete(job.token);
      this.#offered = this.#offered.filter((one) => one !== job);
    }
  }

  /** Ends an aborted job that the program doesn't end: it may hang, and the queue must not wait for it. */
  async #endAborted(job: RemoteJob, ended: AbortSignal): Promise<void> {
    const { signal } = job.job;
    if (!this.#offered.includes(job)) await this.#clock.sleep(this.#killAfterMs, ended);
    job.fail(signal.reason);
  }
}

function endJob(job: RemoteJob, { end, result, error, delayMs = 0 }: End): void {
  const message = error?.message ?? "";
  switch (end) {
    case "succeeded":
      return job.succeed(result);
    case "failed":
      return job.fail(new RemoteError({ class: "Error", message: "", stack: [], causes: [], ...error }));
    case "discard":
      return job.fail(new Discard(message));
    case "kill":
      return job.fail(new Kill(message));
    case "snooze":
      return job.fail(new Snooze(delayMs / 1_000));
    case "release":
      return job.fail(new Released());
  }
}
