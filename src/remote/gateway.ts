/**
 * The workers of other programs that this process performs the worker's part for (`remote_worker.ts`).
 *
 * A program that isn't heard for the heartbeat timeout is gone, and so is its worker here. If it comes back, its requests name an
 * unknown worker: it registers again, here or with another process, shows the jobs that it runs, and continues with them.
 *
 * @module
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Settings } from "../config/settings.ts";
import { type Log, logger } from "../log/log.ts";
import { Announcer } from "../server/work/announcer.ts";
import type { Store } from "../store/admin/store.ts";
import type { GivenJob, Program, Shown, ShownJob } from "./program.ts";
import { ForeignWorker, GatewayClosed, LateRegistration, TooManyWorkers, UnknownWorker } from "./refusals.ts";
import { RemoteWorker } from "./remote_worker.ts";
import { SharedWatch } from "./shared_watch.ts";

/** The workers of other programs in one process; a further one is refused. */
const MAX_WORKERS = 2_000;
/** Those of one user: no token takes the place of all others. */
const MAX_WORKERS_OF_USER = 500;
/** How late a command reaches a program that has jobs, and a heartbeat the store. */
const MAX_TICK_MS = 1_000;

/** A worker that starts. */
interface Starting {
  readonly owner: string | undefined;
  readonly worker: Promise<RemoteWorker>;
}

/** The user of a program's worker; undefined without users. */
type Ownership = { readonly owner: string | undefined } | typeof NO_PROGRAM;
/** A worker of `jobs run`, of a program that contains it, or of Sidekiq. */
const NO_PROGRAM = "no program";

export interface GatewayOptions {
  readonly store: Store;
  readonly settings: Settings;
  readonly clock: Clock;
  /** How many workers a user may have here. Default 500. */
  readonly maxWorkersOfUser?: number;
}

export class Gateway implements AsyncDisposable {
  readonly #options: GatewayOptions;
  readonly #log: Log;
  readonly #workers = new Map<string, RemoteWorker>();
  /** The workers that start, by ID. */
  readonly #starting = new Map<string, Starting>();
  readonly #end = new AbortController();
  readonly #shared: SharedWatch;
  readonly #announcer: Announcer;
  /** The worker that does the chores for all. */
  #keeper: RemoteWorker | undefined;
  #key: string | undefined;
  /** The owners that are being read. */
  #owners: Promise<ReadonlyMap<string, Ownership>> | undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#log = logger("gateway", options.clock);
    this.#shared = new SharedWatch(options.store, options.clock);
    this.#announcer = new Announcer(options);
    void this.#watch();
  }

  /** How often a program must send heartbeats, and after which time without one its jobs are rescued, in milliseconds. */
  get times(): { readonly heartbeatMs: number; readonly timeoutMs: number } {
    const { heartbeatMs, heartbeatTimeoutMs } = this.#options.settings;
    return { heartbeatMs, timeoutMs: heartbeatTimeoutMs };
  }

  /**
   * Starts the worker of a program. The same registration again returns the same worker.
   *
   * @throws {HandlerError} if an option of a class is invalid
   * @throws {StoreError} if the store doesn't accept the worker
   * @throws {TooManyWorkers}
   * @throws {ForeignWorker} while another user's worker has the ID, here or at another gateway
   * @throws {LateRegistration}
   * @throws {GatewayClosed}
   */
  async register(program: Program, shown: Shown): Promise<RemoteWorker> {
    const { id, owner } = program;
    const { registration } = shown;
    for (let starting; (starting = this.#starting.get(id));) await starting.worker.catch(() => {});
    const before = this.#workers.get(id);
    if (before !== undefined && before.program.owner !== owner) throw foreign(id);
    if (registration !== undefined && before?.registration !== undefined) {
      if (registration === before.registration) return before;
      if (registration < before.registration) {
        throw new LateRegistration(`Worker "${id}" has registered again since; expected a number above the last one`);
      }
    }
    if (before === undefined) this.#checkShare(owner);
    const worker = this.#start(program, shown).finally(() => this.#starting.delete(id));
    this.#starting.set(id, { owner, worker });
    return await worker;
  }

  async #start(program: Program, shown: Shown): Promise<RemoteWorker> {
    if (this.#end.signal.aborted) throw new GatewayClosed();
    if (!this.#workers.has(program.id)) await this.#checkOwner(program);
    await this.#workers.get(program.id)?.die();
    if (this.#workers.size >= MAX_WORKERS) {
      throw new TooManyWorkers(`This server has ${MAX_WORKERS} workers of other programs; use another one`);
    }
    const { settings, clock } = this.#options;
    const onNodes = () => this.#keeper?.tendBatches();
    await this.#announcer.keepFresh();
    const worker = new RemoteWorker({
      ...{ store: this.#shared.store, settings, clock, program, shown, onNodes },
      announcer: this.#announcer,
    });
    await worker.start();
    if (this.#end.signal.aborted) {
      await worker.die();
      throw new GatewayClosed();
    }
    this.#workers.set(program.id, worker);
    this.#chooseKeeper();
    this.#log.info("Worker of a program started", { worker: program.id, runtime: program.version });
    // One that was stopped by a command waits until its program knows.
    void worker.finished.then(() => worker.hasFailed && this.#forget(worker));
    return worker;
  }

  /**
   * Checks that the ID is free, or that of this user's program at another gateway. A program without a user has all rights, and takes
   * that of any program. Without this check, a token would speak for a worker of `jobs run`, whose jobs would then run twice.
   *
   * @throws {ForeignWorker}
   */
  async #checkOwner({ id, owner }: Program): Promise<void> {
    const registered = (await this.#readOwners()).get(id);
    if (registered === undefined) return;
    if (registered === NO_PROGRAM) {
      throw new ForeignWorker(`Worker "${id}" isn't a worker of another program; expected another nonce`);
    }
    if (owner !== undefined && registered.owner !== undefined && registered.owner !== owner) throw foreign(id);
  }

  /** @throws {TooManyWorkers} if a user has its share of the workers here, with those that start */
  #checkShare(owner: string | undefined): void {
    if (owner === undefined) return;
    const { maxWorkersOfUser: most = MAX_WORKERS_OF_USER } = this.#options;
    const owners = [
      ...this.#workers.values().map(({ program }) => program.owner),
      ...this.#starting.values().map((one) => one.owner),
    ];
    if (owners.filter((one) => one === owner).length < most) return;
    throw new TooManyWorkers(
      `User "${
        owner.slice(0, 80)
      }" has ${most} workers at this server; use another server, or another token for some of them`,
    );
  }

  /** Returns to whom the workers of the store belong, by ID. Thousands of programs register at once after a restart: they share a read. */
  #readOwners(): Promise<ReadonlyMap<string, Ownership>> {
    return this.#owners ??= this.#options.store.workers.list().then(
      (workers) =>
        new Map(workers.map(({ id, program = false, owner }) => [id, program ? { owner } : NO_PROGRAM] as const)),
    ).finally(() => this.#owners = undefined);
  }

  /** Stops the worker of a program: it has nothing left, or gives back what it has. */
  async deregister(worker: RemoteWorker): Promise<void> {
    await worker.stop();
    this.#forget(worker);
  }

  #forget(worker: RemoteWorker): void {
    const { id } = worker.program;
    if (this.#workers.get(id) === worker) this.#workers.delete(id);
  }

  /**
   * Returns the receipt of a job that was given to a program: with it, any process that shares the store accepts the job as it was given.
   */
  async receiptOf({ token, payload, queue, since }: GivenJob): Promise<string> {
    this.#key ??= await this.#options.store.sessions.key();
    const proof = createHmac("sha256", this.#key).update(JSON.stringify(["work", token, queue, payload, since]));
    return `${since}.${proof.digest("base64url")}`;
  }

  /** Returns the jobs whose receipts are right. */
  async knownJobs(jobs: readonly ShownJob[]): Promise<readonly GivenJob[]> {
    const checked = jobs.map(async ({ receipt, token, payload, queue }) => {
      const job = { token, payload, queue, since: Number.parseInt(receipt) };
      const [shownBytes, bytes] = [receipt, await this.receiptOf(job)].map((text) => new TextEncoder().encode(text));
      return shownBytes!.length === bytes!.length && timingSafeEqual(shownBytes!, bytes!) ? [job] : [];
    });
    return (await Promise.all(checked)).flat();
  }

  /** Describes what each task of each worker does, as lines of text that begin with the worker's ID. */
  dump(): string[] {
    return [...this.#workers].flatMap(([id, worker]) => worker.dump().map((line) => `${id}  ${line}`));
  }

  /** @throws {UnknownWorker} also if another user has registered it */
  worker(id: string, owner?: string): RemoteWorker {
    const worker = this.#workers.get(id);
    if (worker === undefined || worker.program.owner !== owner) {
      throw new UnknownWorker(`Unknown worker "${id}": it has stopped, or wasn't heard for too long; register again`);
    }
    return worker;
  }

  /**
   * Leaves all workers: their programs continue at another gateway, or at the next one here, with the jobs that they run. One that is being
   * registered ends when it has started.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await Promise.all([...this.#workers.values()].map((worker) => worker.die()));
  }

  /** Sends the heartbeats of programs that were heard, and drops the workers of those that are gone. */
  async #watch(): Promise<void> {
    const { clock, settings: { heartbeatMs, heartbeatTimeoutMs } } = this.#options;
    const { signal } = this.#end;
    const tickMs = Math.min(MAX_TICK_MS, heartbeatMs / 4);
    let wokeAt = clock.monotonic();
    while (!signal.aborted) {
      await clock.sleep(tickMs, signal);
      const pauseMs = clock.monotonic() - wokeAt;
      wokeAt += pauseMs;
      this.#chooseKeeper();
      if (this.#workers.size > 0) void this.#announcer.keepFresh().catch(() => {});
      for (const worker of this.#workers.values()) {
        // This process or the machine stood still: the programs' heartbeats wait to be read.
        if (pauseMs >= heartbeatTimeoutMs) worker.excuse(pauseMs);
        void worker.tick();
        if (worker.silentMs < heartbeatTimeoutMs) continue;
        const { id } = worker.program;
        this.#log.warn("Program not heard: its jobs are rescued", {
          worker: id,
          silentMs: Math.round(worker.silentMs),
        });
        this.#forget(worker);
        void worker.die();
      }
    }
  }

  /** Lets another worker do the chores if the one before stops, or its program is gone. */
  #chooseKeeper(): void {
    const all = [...this.#workers.values()];
    if (all.some((worker) => worker === this.#keeper && !worker.state.stopping)) return;
    this.#keeper = all.find(({ state }) => !state.stopping);
    this.#keeper?.doChores();
  }
}

function foreign(id: string): ForeignWorker {
  return new ForeignWorker(
    `Worker "${id}" is another user's; expected the token that registered it, or another nonce`,
  );
}
