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
import type { Settings } from "../config/settings.ts";
import type { JobContext } from "../handlers/context.ts";
import { leaseOf } from "../handlers/running_context.ts";
import { Registry } from "../handlers/registry.ts";
import { LeaseLost } from "../job/errors.ts";
import { parsePayload } from "../job/job.ts";
import { setFields } from "../job/raw.ts";
import { STEPS_FIELD } from "../job/step.ts";
import { type Log, logger } from "../log/log.ts";
import { Released } from "../steps/errors.ts";
import { StoreError } from "../store/port/errors.ts";
import { Launcher } from "../server/launcher.ts";
import type { Announcer } from "../server/work/announcer.ts";
import type { Lease } from "../store/port/jobs.ts";
import type { ServerStore } from "../store/port/store.ts";
import {
  type End,
  errorOf,
  type GivenJob,
  type Orders,
  type Program,
  type Report,
  settingsOf,
  type Shown,
} from "./program.ts";
import { Offers } from "./offers.ts";
import { RemoteJob } from "./remote_job.ts";
import { ProgramBeats } from "./program_beats.ts";
import { StrayLeases } from "./stray_leases.ts";
import type { PartEnd, UseAnswer, UseRequest } from "./remote_step.ts";

export interface RemoteWorkerOptions {
  readonly store: ServerStore;
  /** Those of this process; what concerns a single worker is the program's. */
  readonly settings: Settings;
  readonly clock: Clock;
  readonly program: Program;
  readonly shown: Shown;
  /** Called when nodes of flows have ended. */
  readonly onNodes: () => void;
  /** Makes the jobs of webhooks. */
  readonly announcer: Announcer;
}

/**
 * Returns the payload of a job that runs already, with the mark of one that may have steps or a stream: its attempt and its end must find
 * them, and it doesn't expire.
 */
function runningPayload(payload: string): string {
  return parsePayload(payload) === undefined ? payload : setFields(payload, { [STEPS_FIELD]: "true" });
}

/** A job that a program ran before begins within this time. */
const MAX_BEGIN_MS = 1_000;

export class RemoteWorker {
  readonly program: Program;
  readonly #clock: Clock;
  readonly #launcher: Launcher;
  readonly #log: Log;
  readonly #killAfterMs: number;
  readonly #beats: ProgramBeats;
  readonly #offers: Offers;
  readonly #shown: Shown;
  readonly #store: ServerStore;
  #strays: StrayLeases | undefined;
  readonly #running = new Map<string, RemoteJob>();
  /** The tokens of jobs that the program has ended, and whose ends aren't stored. */
  readonly #ending = new Set<string>();
  /** The jobs that the program ran before, by token. */
  #adopted: ReadonlyMap<string, GivenJob> = new Map();
  /** Aborts when all of them have begun. */
  readonly #adoption = new AbortController();
  /** Called when the program must know something. */
  #onNews: (() => void) | undefined;
  /** The program's resident memory in bytes. */
  rss = 0;
  #isStopping = false;
  /** Whether its program isn't to stop with it. */
  #isLeft = false;

  constructor({ store, settings, clock, program, shown, onNodes, announcer }: RemoteWorkerOptions) {
    this.program = program;
    this.#clock = clock;
    this.#log = logger("gateway", clock);
    this.#killAfterMs = settings.killAfterMs;
    this.#shown = shown;
    this.#store = store;
    this.#offers = new Offers({
      clock,
      fetch: () => this.#launcher.fetch(),
      taken: shown.taken ?? 0,
      onTaken: (jobs, take) => {
        for (const job of jobs) {
          job.take = take;
          this.#running.set(job.token, job);
        }
      },
    });
    const registry = new Registry();
    const perform = (job: JobContext) => this.#perform(job);
    for (const [name, options] of Object.entries(program.classes)) {
      registry.add(name, perform, options, program.version);
    }
    const { id, owner, hostname, pid, version, within } = program;
    this.#launcher = new Launcher({
      ...{ store, registry, clock, storeUrl: store.url },
      guest: {
        ...{ id, hostname, pid, version, ...(owner !== undefined && { owner }), ...(within && { within }) },
        rss: () => this.rss,
        demand: () => this.#offers.demand,
        awake: () => this.#offers.awake(),
        runs: (token) => this.#adopted.has(token),
        ...{ onNodes, announcer },
        adopt: () => this.#adopt(),
      },
      settings: settingsOf(program, settings),
      hooks: {
        quiet: () => {
          this.#onNews?.();
          this.#offers.answer();
        },
      },
      onStopping: () => {
        this.#isStopping = true;
        this.#onNews?.();
        this.#offers.close();
      },
    });
    this.#beats = new ProgramBeats({
      ...{ clock, log: this.#log, worker: program.id, launcher: this.#launcher },
      ...{ heartbeatMs: settings.heartbeatMs, timeoutMs: settings.heartbeatTimeoutMs },
      strays: () => this.#strays,
      isBusy: () => this.#running.size > 0,
    });
  }

  /** Numbers the registration of the program; undefined if it doesn't. */
  get registration(): number | undefined {
    return this.#shown.registration;
  }

  /** Milliseconds since the program was last heard. */
  get silentMs(): number {
    return this.#beats.silentMs;
  }

  /** Sends its heartbeat, and collects commands: see {@linkcode ProgramBeats.tick}. */
  async tick(): Promise<void> {
    // A program that has jobs must send heartbeats: an open connection doesn't show that it isn't frozen.
    if (this.#offers.isWaiting && this.#running.size === 0) this.#beats.heard();
    await this.#beats.tick();
  }

  /** Does the chores of a worker for all workers of this process. */
  doChores(): void {
    this.#launcher.doChores();
  }

  /** Continues flows soon. */
  tendBatches(): void {
    this.#launcher.tendBatches();
  }

  /** Whether it takes no more jobs, and whether it stops. */
  get state(): { readonly quiet: boolean; readonly stopping: boolean } {
    return { quiet: this.#launcher.isQuiet, stopping: this.#isStopping && !this.#isLeft };
  }

  /** Doesn't count a time during which this process couldn't hear the program. */
  excuse(ms: number): void {
    this.#beats.excuse(ms);
  }

  /** Describes what each of its tasks does, as lines of text. */
  dump(): string[] {
    return this.#launcher.dump();
  }

  /** Whether it was left: its program continues with the jobs at another process, or here after its next registration. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  /** Resolves when it has stopped. */
  get finished(): Promise<void> {
    return this.#launcher.finished;
  }

  /** Whether it has stopped because of the store. */
  get hasFailed(): boolean {
    return this.#launcher.failure !== undefined;
  }

  /**
   * Resolves when it takes jobs, and those that the program ran before have begun here: their ends may arrive at once.
   *
   * @throws {StoreError} if the store doesn't accept it
   */
  async start(): Promise<void> {
    await this.#launcher.start();
    this.#beats.begin();
    void this.finished.then(() => {
      this.#beats.stop();
      for (const job of this.#running.values()) job.fail(new Released());
    });
    // One that was cancelled meanwhile doesn't begin.
    if (this.#adopted.size > 0) await this.#clock.sleep(MAX_BEGIN_MS, this.#adoption.signal);
  }

  /** Returns jobs for the program: see {@linkcode Offers.take}. */
  take(take: number, limit: number, waitMs: number, signal: AbortSignal): Promise<readonly RemoteJob[]> {
    this.#beats.heard();
    return this.#offers.take(take, limit, waitMs, signal);
  }

  /**
   * Performs a step of a job, or another use of its context.
   *
   * @param call numbers the use within the attempt: the same number again returns the same answer
   * @param result of the program's part of the step, if it has run
   * @returns undefined if the job is no longer the program's
   */
  async use(report: Report, call: number, request: UseRequest, result?: PartEnd): Promise<UseAnswer | undefined> {
    this.#beats.heard();
    const job = this.#running.get(report.token);
    if (job === undefined || job.isOver) return undefined;
    this.#note(report);
    return await job.use(call, request, result);
  }

  /** Adds chunks to the stream of a job: see {@linkcode RemoteJob.stream}. Returns false if the job is no longer the program's. */
  async stream(token: string, from: number, chunks: readonly unknown[]): Promise<boolean> {
    this.#beats.heard();
    const job = this.#running.get(token);
    if (job === undefined || job.isOver) return false;
    return await job.stream(from, chunks);
  }

  /**
   * Ends jobs. Resolves when their ends are stored.
   *
   * @returns the tokens of those that are no longer the program's
   * @throws {StoreError} if this process stops before they are stored
   */
  async settle(ends: readonly End[]): Promise<readonly string[]> {
    this.#beats.heard();
    const lost: string[] = [];
    const ended = new Set<string>();
    for (const end of ends) {
      const job = this.#running.get(end.token);
      if (this.#ending.has(end.token)) ended.add(end.token);
      else if (job === undefined || job.isOver) lost.push(end.token);
      else {
        ended.add(end.token);
        this.#ending.add(end.token);
        this.#note(end);
        if (end.end === "succeeded") job.succeed(end.result);
        else job.fail(errorOf(end));
      }
    }
    // The processors learn it in this turn.
    await this.#clock.turn();
    const isStored = await this.#launcher.flush(ended);
    for (const token of ended) this.#ending.delete(token);
    if (!isStored && ended.size > 0) {
      throw new StoreError("unavailable", "The store isn't reachable: the ends of these jobs aren't stored");
    }
    return lost;
  }

  /**
   * Receives the program's heartbeat, and returns what the program must know.
   *
   * @param listed its jobs; undefined from a program that is too busy to list them
   * @param taken its last request for jobs whose answer it had when it listed them; undefined if it doesn't tell
   * @param waitMs how long to wait for something that it must know
   */
  async beat(
    listed: readonly Report[] | undefined,
    { rss, taken, waitMs, signal }: {
      readonly rss: number;
      readonly taken?: number | undefined;
      readonly waitMs: number;
      readonly signal: AbortSignal;
    },
  ): Promise<Orders> {
    this.#beats.heard();
    this.rss = rss;
    const reports = listed ?? [];
    for (const report of reports) this.#note(report);
    if (listed && taken !== undefined) this.#returnForgotten(listed, taken);
    // After a long silence the program must know at once what it has lost.
    await this.#beats.beat();
    // It begins what it lists and hasn't lost.
    await this.#launcher.confirm(reports.map(({ token }) => token));
    const orders = this.#orders(reports);
    if (waitMs === 0 || orders.aborted.length > 0 || orders.lost.length > 0 || orders.stopping) return orders;
    const news = new AbortController();
    this.#onNews = () => news.abort("news");
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
    return [...this.#adopted.keys()];
  }

  /** The program is gone. The jobs that it didn't get return to their queues. */
  async die(): Promise<void> {
    this.#isLeft = true;
    this.#isStopping = true;
    this.#offers.withdraw();
    await this.#clock.turn();
    await this.#launcher.quiet();
    await Promise.all([...this.#running.values()].map((job) => job.leave()));
    const dead = this.#launcher.die();
    // Their leases are the program's, which no longer ends them here.
    for (const job of this.#running.values()) job.fail(new LeaseLost());
    await dead;
  }

  /** Keeps the leases of jobs that the program runs. The others were lost on their way to it: {@linkcode StrayLeases} returns them. */
  async #adopt(): Promise<readonly Lease[]> {
    const { jobs } = this.#store;
    const { id: worker } = this.program;
    const { given } = this.#shown;
    const leased = new Set(await jobs.stillLeased(worker));
    const kept = (given ?? []).filter(({ token }) => leased.delete(token));
    this.#adopted = new Map(kept.map((job) => [job.token, job]));
    if (given !== undefined || leased.size > 0) {
      const known = () => this.#launcher.leases;
      this.#strays = new StrayLeases({ jobs, worker, clock: this.#clock, known, notShown: leased });
    }
    return kept.map((job) => ({ ...job, payload: runningPayload(job.payload) }));
  }

  /**
   * Returns the jobs that the program doesn't have, although it waits no more for the answer to the request that they were given with: it
   * has never received that answer, or has lost them. The list of a heartbeat says nothing about jobs of a later request. However long the
   * heartbeat was on its way: the list has each job of the requests before that hadn't ended.
   */
  #returnForgotten(listed: readonly Report[], taken: number): void {
    const tokens = new Set(listed.map(({ token }) => token));
    for (const job of this.#running.values()) {
      if (job.take > taken || job.isOver || tokens.has(job.token)) continue;
      const { jid, signal } = job.job;
      this.#log.warn("Program doesn't know a job that it was given: returned", { worker: this.program.id, jid });
      job.fail(signal.aborted ? signal.reason : new Released());
    }
  }

  #note({ token, progress, log = [] }: Report): void {
    const job = this.#running.get(token)?.job;
    if (progress) job?.progress(progress.done, progress.note);
    for (const { level, message, fields } of log) job?.log[level](message, fields);
  }

  #orders(reports: readonly Report[]): Orders {
    // Its program has lost no job: the next heartbeat tells it more.
    if (this.#isLeft) return { aborted: [], lost: [], ...this.state };
    const aborted = [...this.#running.values()].flatMap(({ token, abortedBy, isOver }) =>
      abortedBy === undefined || isOver ? [] : [{ token, reason: abortedBy }]
    );
    const lost = reports.map(({ token }) => token).filter((token) => this.#running.get(token)?.isOver !== false);
    return { aborted, lost, ...this.state };
  }

  /** The handler of every class. */
  async #perform(context: JobContext): Promise<unknown> {
    const token = leaseOf(context)!.token;
    const adopted = this.#adopted.get(token);
    if (this.#offers.isAway && adopted === undefined) throw new Released();
    const job = new RemoteJob(context, token, adopted?.since ?? this.#clock.now());
    let ended: AbortController | undefined;
    const onAbort = () => {
      this.#onNews?.();
      ended = new AbortController();
      void this.#endAborted(job, ended.signal);
    };
    context.signal.addEventListener("abort", onAbort, { once: true });
    if (adopted) {
      job.take = this.#shown.taken ?? Infinity;
      this.#running.set(job.token, job);
      if (this.#running.size === this.#adopted.size) this.#adoption.abort();
    } else this.#offers.add(job);
    try {
      return await job.ended;
    } finally {
      ended?.abort();
      context.signal.removeEventListener("abort", onAbort);
      this.#running.delete(job.token);
      this.#offers.remove(job);
    }
  }

  /** Ends an aborted job that the program doesn't end: it may hang, and the queue must not wait for it. */
  async #endAborted(job: RemoteJob, ended: AbortSignal): Promise<void> {
    const { signal } = job.job;
    if (!this.#offers.has(job)) await this.#clock.sleep(this.#killAfterMs, ended);
    job.fail(signal.reason);
  }
}
