/**
 * The launcher: starts the parts of a server in order and stops them in reverse. What they are, and how they hang
 * together, stands in `components.ts`.
 *
 *   start:  unhandled errors → heartbeat (registers) → startup hook → listener → processors → poller → rescuer → scheduler → fetcher
 *   stop:   quiet (fetcher, scheduler, …) → processors, until the deadline → heartbeat → listener → deregister
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { Settings } from "../config/settings.ts";
import type { QueueWeight } from "../config/kinds.ts";
import { type Log, logger } from "../log/log.ts";
import { StoreError } from "../store/port/errors.ts";
import { control, type Controls } from "./control/control.ts";
import { readCrontab } from "./schedule/cron_sources.ts";
import { callHook, type Hooks } from "./hooks.ts";
import { identityOf, randomId } from "./host/identity.ts";
import type { LauncherOptions } from "./launcher_options.ts";
import { claimName } from "./liveness/unique_name.ts";
import { OUTCOMES_SHARE, SHUTDOWN_BUDGET_MS, ShutdownBudget } from "./shutdown_budget.ts";
import { buildComponents, type Components } from "./components.ts";
import { chooseQueues, formatQueues, queueOrder } from "./work/queue_order.ts";
import type { Service } from "./service.ts";
import { Inbox } from "./control/signals.ts";
import { StartEnded, StartupSteps } from "./startup_steps.ts";
import { Status } from "./control/status.ts";
import type { ServerCounts } from "./stats/counters.ts";
import type { WorkerRecord } from "../store/port/workers.ts";

/** Without jobs there is little to tell a store, and a start hangs where it does not answer: so long a stop waits then. */
const STARTUP_ABORT_BUDGET_MS = 1_000;

/** A server: takes jobs and performs them until stopped. */
export class Launcher implements Controls {
  /** `hostname:pid:nonce`. */
  readonly identity: string;
  /** What signals and commands ask goes in here. */
  readonly inbox: Inbox;
  readonly #options: LauncherOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #hooks: Hooks;
  readonly #parts: Components;
  readonly #status: Status;
  /** What takes jobs out of the store, or moves them to where they are taken. */
  #taking: Service[] = [];
  #queues: readonly QueueWeight[];
  #timeoutMs: number;
  #shutdownBudgetMs: number;
  #started = false;
  #quiet = false;
  /** How often quiet or resume was asked for: the last one counts. */
  #asked = 0;
  /** Resolves when nothing is taken any more, once it is quiet. */
  #takingEnded: Promise<unknown> = Promise.resolve();
  /** Aborts the return of jobs that a lost answer may have leased. */
  #returning = new AbortController();
  readonly #cold = new AbortController();
  #stopping: Promise<void> | undefined;
  #finished: Promise<void> = Promise.resolve();
  #failure: StoreError | undefined;

  constructor(options: LauncherOptions) {
    const { settings } = options;
    this.#options = options;
    this.identity = identityOf(Deno.pid, options.nonce ?? randomId());
    this.inbox = options.inbox ?? new Inbox();
    this.#shutdownBudgetMs = options.shutdownBudgetMs ?? SHUTDOWN_BUDGET_MS;
    this.#clock = options.clock ?? systemClock;
    this.#log = logger("launcher", this.#clock);
    this.#hooks = options.hooks ?? {};
    this.#timeoutMs = settings.shutdownTimeoutMs;
    this.#parts = buildComponents(options, {
      identity: this.identity,
      clock: this.#clock,
      inbox: this.inbox,
      describe: () => this.describe(),
      isStopping: () => this.#stopping !== undefined,
      fail: (error) => this.#fail(error),
      end: (why) => void (this.#stopping || this.inbox.put({ verb: "stop", by: why })),
    });
    this.#status = new Status({
      identity: this.identity,
      clock: this.#clock,
      settings,
      parts: this.#parts,
      state: () => ({ quiet: this.#quiet, queues: this.#queues }),
    });
    this.#queues = chooseQueues(settings.queues, this.#parts.registry.queues());
    this.#carryCrontab(settings);
  }

  /** The enqueuer that handlers are given. */
  get client(): Client {
    return this.#parts.client;
  }

  /** Whether its start is over: it takes jobs, or did. */
  get started(): boolean {
    return this.#started;
  }

  /** The classes it can perform. */
  get classes(): readonly string[] {
    return this.#parts.registry.classes();
  }

  /** The queues it takes from. */
  get queues(): readonly QueueWeight[] {
    return this.#queues;
  }

  /** Resolves when it has stopped, however that came about. */
  get finished(): Promise<void> {
    return this.#finished;
  }

  /** Why it stopped by itself, or what it could not store before it stopped; undefined when all went well. */
  get failure(): StoreError | undefined {
    return this.#failure;
  }

  /**
   * Starts everything; resolves when it takes jobs.
   *
   * @returns false when it was asked to stop before, and has stopped
   * @throws {StoreError} when the process cannot be registered
   */
  async start(): Promise<boolean> {
    const starting = new StartupSteps({ clock: this.#clock, log: this.#log, inbox: this.inbox });
    const claiming = new AbortController();
    this.#parts.unhandledErrors.start();
    try {
      await starting.step("heartbeat", this.#parts.heartbeat.start());
      await starting.step("predecessor", this.#noteDeath());
      await starting.step("name", this.#claimName(claiming.signal));
      await starting.step("startup hook", this.#hooks.startup?.());
      await this.#parts.horses?.start();
      this.#parts.declaring.start();
      await starting.step("classes", this.#parts.classSync.attempted);
    } catch (error) {
      claiming.abort();
      if (!(error instanceof StartEnded)) {
        await this.stop();
        throw error;
      }
      this.#shutdownBudgetMs = Math.min(this.#shutdownBudgetMs, STARTUP_ABORT_BUDGET_MS);
      // Before what else waits in the inbox; whatever comes after this is too late.
      void this.stop();
      await (this.#finished = this.#control());
      return false;
    }
    this.#parts.listening.start();
    this.#parts.reaping?.start();
    this.#parts.manager.start();
    this.#parts.measuring.start();
    this.#startTaking();
    this.#parts.autoStop?.start();
    this.#finished = this.#control();
    this.#started = true;
    return true;
  }

  /** Takes nothing more; running jobs go on. */
  async quiet(): Promise<void> {
    this.#asked++;
    if (this.#quiet) return;
    this.#quiet = true;
    this.#parts.fetcher.goQuiet();
    await (this.#takingEnded = this.#endTaking());
    if (this.#hooks.quiet) await callHook(this.#log, "quiet", this.#hooks.quiet);
  }

  /** Ends being quiet: a deployment that failed need not leave a mute process behind. */
  async resume(): Promise<void> {
    const asked = ++this.#asked;
    // The next taking returns the jobs of a lost answer.
    this.#returning.abort();
    // A loop that still ends must not run twice.
    await this.#takingEnded;
    if (!this.#quiet || this.#stopping) return;
    if (asked !== this.#asked) {
      // A second quiet came meanwhile.
      this.#takingEnded = this.#endTaking();
      return;
    }
    this.#quiet = false;
    this.#parts.fetcher.resume();
    this.#startTaking();
  }

  /** Stops: waits for running jobs until the deadline. Calling it again makes it cold: at once. */
  stop(): Promise<void> {
    if (this.#stopping) this.#cold.abort();
    return this.#stopping ??= this.#stop();
  }

  /** What every task is doing, and the counts: lines of text. */
  dump(): string[] {
    return this.#status.dump();
  }

  /** Reopens the log: what USR2 asks for. */
  reopen(): void {
    this.#options.onReopen?.();
  }

  /** Reads the configuration again: what HUP asks for. */
  async reload(): Promise<void> {
    const { readSettings, onSettings } = this.#options;
    if (readSettings === undefined) return;
    const settings = await readSettings();
    this.#apply(settings);
    onSettings?.(settings);
    const { concurrency, logLevel } = settings;
    this.#log.info("Configuration applied", { queues: formatQueues(this.#queues), concurrency, logLevel });
  }

  /**
   * Applies the settings that may change while it runs.
   *
   * @throws {CrontabError} if a cron entry is invalid: then nothing changes
   */
  #apply(settings: Settings): void {
    this.#carryCrontab(settings);
    this.#queues = chooseQueues(settings.queues, this.#parts.registry.queues());
    this.#timeoutMs = settings.shutdownTimeoutMs;
    this.#parts.fetcher.setOrder(queueOrder(this.#queues));
    this.#parts.manager.resize(settings.concurrency);
  }

  /** What this process is and does, as of now. */
  describe(): WorkerRecord {
    return this.#status.describe();
  }

  /** What it has counted since it started. */
  counts(): ServerCounts {
    return this.#status.counts();
  }

  async #noteDeath(): Promise<void> {
    const { store, predecessor, predecessorEnded } = this.#options;
    if (predecessor === undefined || predecessorEnded === undefined) return;
    await store.workers.noteDeath(predecessor, predecessorEnded).catch((error) =>
      this.#log.debug("Could not note how the predecessor ended", { error: error.message })
    );
  }

  #claimName(signal: AbortSignal): Promise<void> {
    const { store, settings: { name }, predecessor } = this.#options;
    return claimName(store, name, {
      identity: this.identity,
      predecessor,
      clock: this.#clock,
      log: this.#log,
      signal,
    });
  }

  /** @throws {CrontabError} when it is not usable: then it stays as it was */
  #carryCrontab(settings: Settings): void {
    const { cron: defined = [], environment = "development" } = this.#options;
    const queues = chooseQueues(settings.queues, this.#parts.registry.queues()).map(({ name }) => name);
    const crontab = readCrontab({
      configured: settings.cron,
      defined,
      environment,
      registry: this.#parts.registry,
      queues,
    });
    this.#parts.scheduler.carry(crontab.entries, crontab.switchedOff);
  }

  #startTaking(): void {
    this.#taking = this.#parts.taking();
    for (const service of this.#taking) void service.start();
  }

  async #endTaking(): Promise<void> {
    const { signal } = this.#returning = new AbortController();
    await Promise.all(this.#taking.map((service) => service.stop()));
    await this.#parts.fetcher.returnUnanswered(signal);
  }

  #control(): Promise<void> {
    return control(this.inbox, this, { tasks: this.#parts.tasks, log: logger("control", this.#clock) });
  }

  async #stop(): Promise<void> {
    this.#options.onStopping?.();
    const budget = new ShutdownBudget(this.#clock, this.#shutdownBudgetMs);
    let deregistered = false;
    const steps: [string, () => Promise<unknown>][] = [
      ["auto-stop", async () => await this.#parts.autoStop?.stop()],
      ["manager", () => this.#endJobs(budget)],
      ["class-sync", () => budget.within(this.#parts.declaring.stop())],
      ["metrics-recorder", () => this.#endMeasuring(budget)],
      ["horses", async () => await this.#parts.horses?.stop()],
      [
        "shutdown",
        async () => this.#hooks.shutdown && await callHook(this.#log, "shutdown", this.#hooks.shutdown),
      ],
      [
        "heartbeat",
        async () => await budget.within(this.#parts.heartbeat.stop()) || this.#parts.heartbeat.abandon(),
      ],
      ["remote-commands", () => (this.#parts.remoteCommands.end(), budget.within(this.#parts.listening.stop()))],
      ["reaper", async () => (await this.#parts.reaping?.stop(), this.#parts.reaper?.close())],
      [
        "deregister",
        async () => deregistered = await budget.within(this.#options.store.workers.deregister(this.identity)),
      ],
      ["unhandled-errors", async () => await this.#parts.unhandledErrors.stop()],
    ];
    for (const [name, step] of steps) {
      // One part that cannot stop must not keep the others from it.
      await step().catch((error) => this.#log.error("Could not stop cleanly", { part: name, error: error.message }));
    }
    this.#returning.abort();
    this.#reportUnstored(deregistered);
    this.#log.info("Stopped");
    this.#options.onStopped?.(this.#failure);
  }

  /** Takes nothing more, and ends the jobs that run. */
  async #endJobs(budget: ShutdownBudget): Promise<void> {
    // The deadline counts from now, also when the store keeps the last taking waiting.
    const quieted = this.quiet();
    const { signal } = this.#cold;
    await Promise.all([
      this.#parts.manager.stop(this.#timeoutMs, signal, budget),
      this.#parts.inProcessRuns.stop(this.#timeoutMs, signal),
    ]);
    if (await budget.within(this.#takingEnded)) await quieted;
    // What the last taking brought goes back.
    if (!await budget.within(this.#parts.settler.flush(), OUTCOMES_SHARE)) this.#parts.settler.abandon();
  }

  async #endMeasuring(budget: ShutdownBudget): Promise<void> {
    const { metricsRecorder, measuring } = this.#parts;
    if (!await budget.within(measuring.stop().then(() => metricsRecorder.step()))) metricsRecorder.abandon();
  }

  /** It cannot go on: says why, once, and stops. */
  #fail(error: StoreError): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#log.error(error.message);
    this.inbox.put({ verb: "stop", by: "the launcher" });
  }

  /** A stop that could not store everything is a failure. Its jobs were given back, or are leased until it is offline. */
  #reportUnstored(deregistered: boolean): void {
    const outcomes = this.#parts.settler.unsettled;
    if (this.#failure || !this.#started || deregistered && outcomes === 0) return;
    const message = deregistered
      ? "Outcomes not stored at shutdown: their jobs run again"
      : "Store not reachable at shutdown: jobs of this worker run again when its heartbeat has expired";
    this.#failure = new StoreError("unavailable", message);
    this.#log.error(message, { outcomes, running: this.#parts.manager.busy, identity: this.identity });
  }
}
