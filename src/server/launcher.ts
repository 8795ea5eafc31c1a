/**
 * The launcher: starts the components of a worker in order, and stops them in reverse. `components.ts` lists them.
 *
 * If the process dies during a start or a stop, its leases are rescued when its heartbeat has expired. A stop that cannot
 * reach the store takes the shutdown budget and no longer, and ends with a failure.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { QueueWeight } from "../config/kinds.ts";
import type { Settings } from "../config/settings.ts";
import { checkCrontab } from "../cron/crontab.ts";
import type { CronEntry, CronEntryInput } from "../cron/entry.ts";
import type { Registry } from "../handlers/registry.ts";
import { LeaseLost } from "../job/errors.ts";
import { merge } from "../job/payload.ts";
import { type Log, logger } from "../log/log.ts";
import { StoreError } from "../store/port/errors.ts";
import type { WorkerRecord } from "../store/port/workers.ts";
import { CLOSING_MS, MAX_OVERTIME_MS, SHUTDOWN_BUDGET_MS, ShutdownBudget } from "./component.ts";
import { buildComponents, type Components } from "./components.ts";
import { control, type Controls } from "./control/control.ts";
import { Inbox } from "./control/signals.ts";
import { Status } from "./control/status.ts";
import { randomId, workerIdOf } from "./host/worker_id.ts";
import type { LauncherOptions } from "./launcher_options.ts";
import { StartEnded, StartupSteps } from "./startup_steps.ts";
import type { ServerCounts } from "./stats/counters.ts";
import { chooseQueues, formatQueues, queueOrder } from "./work/queue_order.ts";

/** The shutdown budget of a start that is ended: without jobs there is little to store, and the store may be why it hangs. */
const STARTUP_ABORT_BUDGET_MS = 1_000;

/** A worker: takes jobs and performs them until it is stopped. */
export class Launcher implements Controls {
  /** The worker ID, `hostname:pid:nonce`. */
  readonly workerId: string;
  /** Receives what signals and commands request. */
  readonly inbox: Inbox;
  readonly #options: LauncherOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #components: Components;
  readonly #status: Status;
  #queues: readonly QueueWeight[];
  #timeoutMs: number;
  #shutdownBudgetMs: number;
  #started = false;
  readonly #cold = new AbortController();
  #stopping: Promise<void> | undefined;
  #budget: ShutdownBudget;
  #finished: Promise<void> = Promise.resolve();
  #failure: StoreError | undefined;

  constructor(options: LauncherOptions) {
    const { settings } = options;
    this.#options = options;
    this.workerId = options.guest?.id ?? workerIdOf(Deno.pid, options.nonce ?? randomId());
    this.inbox = options.inbox ?? new Inbox();
    this.#shutdownBudgetMs = options.shutdownBudgetMs ?? SHUTDOWN_BUDGET_MS;
    this.#clock = options.clock ?? systemClock;
    this.#budget = new ShutdownBudget(this.#clock);
    this.#log = logger("launcher", this.#clock);
    this.#timeoutMs = settings.shutdownTimeoutMs;
    this.#components = buildComponents(options, {
      workerId: this.workerId,
      clock: this.#clock,
      inbox: this.inbox,
      describe: () => this.describe(),
      timeoutMs: () => this.#timeoutMs,
      cold: this.#cold.signal,
      fail: (error) => this.#fail(error),
      end: (why) => void (this.#stopping || this.inbox.put({ verb: "stop", by: why })),
    });
    this.#status = new Status({
      worker: this.workerId,
      clock: this.#clock,
      settings,
      components: this.#components,
      queues: () => this.#queues,
      guest: options.guest,
    });
    this.#queues = chooseQueues(settings.queues, this.#components.registry.queues());
    this.#readCrontab(settings);
  }

  /** The client that handlers push with. */
  get client(): Client {
    return this.#components.client;
  }

  /** Whether it takes no more jobs. */
  get isQuiet(): boolean {
    return this.#components.work.quietSince !== undefined;
  }

  get started(): boolean {
    return this.#started;
  }

  get classes(): readonly string[] {
    return this.#components.registry.classes();
  }

  get queues(): readonly QueueWeight[] {
    return this.#queues;
  }

  /** Resolves when it has stopped, for whatever reason. */
  get finished(): Promise<void> {
    return this.#finished;
  }

  /** Why it stopped by itself, or what it could not store before it stopped; undefined if all went well. */
  get failure(): StoreError | undefined {
    return this.#failure;
  }

  /**
   * Starts all components; resolves when it takes jobs.
   *
   * @returns false if a stop was requested during the start: then it has stopped
   * @throws {StoreError} if the store doesn't accept the worker
   * @throws {NameTaken} if another worker has its name
   */
  async start(): Promise<boolean> {
    const startup = new StartupSteps({ clock: this.#clock, log: this.#log, inbox: this.inbox });
    try {
      for (const component of this.#components.all) await startup.step(component.name, component.start?.());
    } catch (error) {
      // The guest may run jobs that it has from another process, and registers again.
      if (this.#options.guest) this.#components.heartbeat.forget();
      if (!(error instanceof StartEnded)) {
        await this.stop();
        throw error;
      }
      this.#shutdownBudgetMs = Math.min(this.#shutdownBudgetMs, STARTUP_ABORT_BUDGET_MS);
      // Before anything else in the inbox: requests after this one are too late.
      void this.stop();
      await (this.#finished = this.#control());
      return false;
    }
    this.#finished = this.#control();
    this.#started = true;
    return true;
  }

  /** Stops taking jobs. Running jobs continue. */
  quiet(): Promise<void> {
    const quieted = this.#components.work.quiet();
    this.#components.heartbeat.beatSoon();
    return quieted;
  }

  /** Takes jobs again, for example after a deployment that failed. */
  async resume(): Promise<void> {
    await this.#components.work.resume();
    this.#components.heartbeat.beatSoon();
  }

  /** Stops: waits for running jobs until the timeout. A second call ends them at once. */
  stop(): Promise<void> {
    if (this.#stopping) {
      this.#cold.abort();
      this.#budget.endIn(MAX_OVERTIME_MS - CLOSING_MS);
    }
    return this.#stopping ??= this.#stop();
  }

  /** Takes jobs for a guest, which waits for more of them. */
  fetch(): void {
    this.#components.fetcher.wake();
  }

  /** Sends the heartbeat of a guest, which was heard since the last one. Jobs that it lost before are aborted then. */
  async beat(): Promise<void> {
    await this.#components.heartbeat.step();
    await this.#components.lostLeases.answered();
  }

  /** Receives which jobs a guest has, or is about to begin: see {@linkcode Suspects.confirm}. */
  confirm(tokens: readonly string[]): Promise<void> {
    return this.#components.suspects.confirm(tokens);
  }

  /** Collects the commands to a guest. */
  async receive(): Promise<void> {
    await this.#components.heartbeat.receive();
  }

  /** Does the work of any worker for all, such as promoting due jobs: one guest of a process does so for the others. */
  doChores(): void {
    for (const chore of this.#components.chores) chore.start();
  }

  /** Continues flows soon: nodes have ended. */
  tendBatches(): void {
    this.#components.batchTender.wake();
  }

  /** The tokens of its leases; undefined while outcomes are being stored, or a take isn't answered. */
  get leases(): readonly string[] | undefined {
    const { fetcher, manager, settler } = this.#components;
    return settler.unsettled > 0 || fetcher.isUnanswered ? undefined : [...fetcher.tokens, ...manager.tokens];
  }

  /**
   * Resolves when the jobs under these leases have ended, with what they store before their outcomes, and all outcomes are stored; with
   * false if it has stopped to store them.
   */
  async flush(tokens: ReadonlySet<string>): Promise<boolean> {
    const { manager, settler } = this.#components;
    await manager.ended(tokens);
    return await settler.flush();
  }

  /**
   * Ends without the store, because its guest is gone: its jobs stay leased until its heartbeat has expired, and are rescued as those of
   * any worker that has died.
   */
  async die(): Promise<void> {
    const { fetcher, manager, heartbeat } = this.#components;
    heartbeat.forget();
    const lost = new Set([...fetcher.tokens, ...manager.tokens]);
    fetcher.lose(lost);
    manager.lose(lost, new LeaseLost());
    this.#timeoutMs = 0;
    this.inbox.put({ verb: "stop", by: "the gateway" });
    await this.#finished;
  }

  /** Describes what every task is doing, and the counts, as lines of text. */
  dump(): string[] {
    return this.#status.dump();
  }

  /** Describes the other workers of this process. */
  dumpOthers(): readonly string[] {
    return this.#options.dumpOthers?.() ?? [];
  }

  /** Reopens the log: what USR2 requests. */
  reopen(): void {
    this.#options.onReopen?.();
  }

  /**
   * Reads the configuration again and applies the settings that may change while it runs: what HUP requests.
   *
   * @throws {ConfigError} if a setting is invalid
   * @throws {CrontabError} if a cron entry is invalid; then nothing changes
   */
  async reload(): Promise<void> {
    const { readSettings, onSettings } = this.#options;
    if (readSettings === undefined) return;
    const settings = await readSettings();
    if (this.#stopping) return;
    const { concurrency, logLevel, shutdownTimeoutMs } = settings;
    this.#readCrontab(settings);
    this.#queues = chooseQueues(settings.queues, this.#components.registry.queues());
    this.#timeoutMs = shutdownTimeoutMs;
    this.#components.heartbeat.setShutdownTimeout(shutdownTimeoutMs);
    this.#components.fetcher.setOrder(queueOrder(this.#queues));
    this.#components.manager.resize(concurrency);
    this.#components.endpoints.resize(concurrency);
    onSettings?.(settings);
    this.#log.info("Configuration applied", { queues: formatQueues(this.#queues), concurrency, logLevel });
  }

  describe(): WorkerRecord {
    return this.#status.describe();
  }

  /** Returns what it has counted since it started. */
  counts(): ServerCounts {
    return this.#status.counts();
  }

  /** @throws {CrontabError} if a cron entry is invalid; then the old entries stay */
  #readCrontab(settings: Settings): void {
    const { cron: defined = [], environment = "development" } = this.#options;
    const { registry, scheduler } = this.#components;
    const queues = chooseQueues(settings.queues, registry.queues()).map(({ name }) => name);
    const crontab = readCrontab({ configured: settings.cron, defined, environment, registry, queues });
    scheduler.setEntries(crontab.entries, crontab.switchedOff);
  }

  #control(): Promise<void> {
    return control(this.inbox, this, { tasks: this.#components.tasks, log: logger("control", this.#clock) });
  }

  async #stop(): Promise<void> {
    this.#options.onStopping?.();
    const budget = this.#budget = new ShutdownBudget(this.#clock, this.#shutdownBudgetMs);
    budget.endIn(this.#timeoutMs + MAX_OVERTIME_MS - CLOSING_MS);
    for (const component of this.#components.all.toReversed()) {
      try {
        await component.stop?.(budget);
      } catch (error) {
        // A component that cannot stop must not prevent the others from stopping.
        this.#log.error("Could not stop cleanly", { component: component.name, error: (error as Error).message });
      }
    }
    this.#components.work.abandon();
    this.#reportUnstored();
    this.#log.info("Stopped");
    this.#options.onStopped?.(this.#failure);
  }

  /** Stops because it cannot continue. Logs the first reason. */
  #fail(error: StoreError): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#log.error(error.message);
    this.inbox.put({ verb: "stop", by: "the launcher" });
  }

  /** A stop that could not store everything is a failure. Its jobs were released, or stay leased until it is offline. */
  #reportUnstored(): void {
    const { settler: { unsettled: outcomes }, heartbeat: { isDeregistered }, manager } = this.#components;
    if (this.#failure || !this.#started || isDeregistered && outcomes === 0) return;
    const message = isDeregistered
      ? "Outcomes not stored at shutdown: their jobs run again"
      : "Store not reachable at shutdown: jobs of this worker run again when its heartbeat has expired";
    this.#failure = new StoreError("unavailable", message);
    this.#log.error(message, { outcomes, running: manager.busy, worker: this.workerId });
  }
}

interface CronSources {
  readonly configured: readonly unknown[];
  /** Entries of the program, by `defineCron`. */
  readonly defined: readonly CronEntryInput[];
  readonly environment: string;
  readonly registry: Registry;
  /** The queues that this worker takes from: the handlers of other queues may be in other workers. */
  readonly queues: Iterable<string>;
}

interface ProcessCrontab {
  /** Active entries, with the options of their classes: other workers that enqueue their jobs need not know these. */
  readonly entries: readonly CronEntry[];
  /** Names of entries that the configuration switches off. */
  readonly switchedOff: readonly string[];
}

/**
 * Checks the entries of a worker.
 *
 * @throws {CrontabError} if an entry is invalid
 */
function readCrontab({ configured, defined, environment, registry, queues }: CronSources): ProcessCrontab {
  const { active, inactive } = checkCrontab([...configured, ...defined], {
    environment,
    classes: new Set(registry.classes()),
    optionsOf: (className) => registry.get(className)?.options,
    queues: new Set(queues),
  });
  return {
    entries: active.map((entry) => withClassOptions(entry, registry)),
    switchedOff: inactive.map(({ entry }) => entry.name),
  };
}

function withClassOptions(entry: CronEntry, registry: Registry): CronEntry {
  const options = registry.get(entry.class)?.options;
  return options === undefined ? entry : { ...entry, options: { ...merge(entry.options, options) } };
}
