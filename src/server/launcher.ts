/**
 * The launcher: the composition root of a server. It builds every moving part, starts them in order and stops them in
 * reverse.
 *
 *   start:  late errors → heartbeat (registers) → startup hook → listener → processors → poller → rescuer → scheduler → fetcher
 *   stop:   quiet (fetcher, scheduler, …) → processors, until the deadline → heartbeat → listener → deregister
 *
 * @module
 */
import { Client } from "../client/client.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { Settings } from "../config.ts";
import type { QueueWeight } from "../config_parse.ts";
import { Horses } from "../handlers/horses.ts";
import { programHandler } from "../handlers/program.ts";
import type { Registry } from "../handlers/registry.ts";
import { chooseWays, type ChosenWays } from "../handlers/ways.ts";
import { type Log, logger } from "../log.ts";
import type { ProcessRecord } from "../store/store.ts";
import { VERSION } from "../version.ts";
import { Bounds } from "./bounds.ts";
import { control, type Controls } from "./control.ts";
import { CronDesk } from "./cron_desk.ts";
import { CronReporter } from "./cron_reporter.ts";
import { readCrontab } from "./crontab.ts";
import { Deadlines } from "./deadlines.ts";
import { dumpTasks, formatDump } from "./dump.ts";
import { Fetcher } from "./fetcher.ts";
import { Heartbeat } from "./heartbeat.ts";
import { callHook, type Hooks } from "./hooks.ts";
import { newIdentity } from "./identity.ts";
import { LateErrors } from "./late_errors.ts";
import { Listener } from "./listener.ts";
import { LocalRuns } from "./local_runs.ts";
import { Manager } from "./manager.ts";
import { claimName } from "./name.ts";
import { Poller } from "./poller.ts";
import { chooseQueues, queueOrder } from "./queue_order.ts";
import type { LauncherOptions } from "./launcher_options.ts";
import { Reaper } from "./reaper.ts";
import { Records } from "./records.ts";
import { Rescuer } from "./rescuer.ts";
import { Retrier } from "./retrier.ts";
import { Scheduler } from "./scheduler.ts";
import { Loop, type Service } from "./service.ts";
import { Settler } from "./settler.ts";
import { Inbox } from "./signals.ts";
import { Tasks } from "./tasks.ts";
import { Totals } from "./totals.ts";

/** A server: takes jobs and performs them until stopped. */
export class Launcher implements Controls {
  /** `hostname:pid:nonce`. */
  readonly identity: string;
  /** The enqueuer that handlers are given. */
  readonly client: Client;
  /** What signals and commands ask goes in here. */
  readonly inbox: Inbox = new Inbox();
  readonly #options: LauncherOptions;
  readonly #clock: Clock;
  readonly #tasks: Tasks;
  readonly #log: Log;
  readonly #hooks: Hooks;
  readonly #settler: Settler;
  readonly #fetcher: Fetcher;
  readonly #manager: Manager;
  readonly #scheduler: Scheduler;
  readonly #localRuns: LocalRuns;
  readonly #heartbeat: Heartbeat;
  readonly #lateErrors: LateErrors;
  /** Only when some class runs in horses. */
  readonly #horses: Horses | undefined;
  readonly #registry: Registry;
  readonly #totals = new Totals();
  readonly #listener: Listener;
  readonly #listening: Loop<number>;
  /** Only when it is to end by itself. */
  readonly #bounding: Loop<void> | undefined;
  /** Only as process 1 of a container. */
  readonly #reaper: Reaper | undefined;
  readonly #reaping: Loop<void> | undefined;
  readonly #startedAt: number;
  /** What takes jobs out of the store, or moves them to where they are taken. */
  #taking: Service[] = [];
  #queues: readonly QueueWeight[];
  #timeoutMs: number;
  #quiet = false;
  readonly #cold = new AbortController();
  #stopping: Promise<void> | undefined;
  #finished: Promise<void> = Promise.resolve();

  constructor(options: LauncherOptions) {
    const { store, settings } = options;
    this.#options = options;
    const clock = this.#clock = options.clock ?? systemClock;
    const log = (name: string) => logger(name, clock);
    this.identity = newIdentity();
    this.#startedAt = clock.now();
    this.#log = log("launcher");
    this.#hooks = options.hooks ?? {};
    this.#timeoutMs = settings.timeoutMs;
    const { registry, modules } = this.#chooseWays();
    this.#registry = registry;
    this.#queues = chooseQueues(settings.queues, registry.queues());
    const tasks = this.#tasks = new Tasks(clock);
    const owner = this.identity;

    this.client = new Client({
      store,
      clock,
      maxPayloadBytes: settings.maxPayloadBytes,
      sidekiqWire: settings.sidekiqWire,
      classOptions: (name) => registry.get(name)?.options,
      ...(options.pushMiddleware && { middleware: options.pushMiddleware }),
    });
    this.#lateErrors = new LateErrors({ log: log("late-errors"), catchAll: options.catchAllErrors ?? false });
    this.#settler = new Settler({ store, owner, clock, log: log("settler") });
    const order = queueOrder(this.#queues);
    const { maxJobs } = settings;
    this.#fetcher = new Fetcher({ store, owner, clock, settler: this.#settler, order, maxJobs });
    const retrier = new Retrier({ clock, settings, registry, hooks: this.#hooks, log: log("retrier") });
    const services = {
      clock,
      tasks,
      fetcher: this.#fetcher,
      settler: this.#settler,
      retrier,
      registry,
      totals: this.#totals,
      records: new Records({ clock, settings, registry, owner }),
      deadlines: new Deadlines({ clock, graceMs: settings.graceMs, log: log("deadlines") }),
      lateErrors: this.#lateErrors,
      client: this.client,
      middleware: options.performMiddleware ?? [],
      log: log("processor"),
    };
    this.#manager = new Manager(services, { concurrency: settings.concurrency, log: log("manager") });
    this.#localRuns = new LocalRuns(services);
    const report = new CronReporter(log("scheduler"));
    const desk = new CronDesk({ client: this.client, report, local: this.#localRuns });
    this.#scheduler = new Scheduler({ store, clock, log: log("scheduler"), desk, report });
    this.#carryCrontab(settings);
    this.#listener = new Listener({
      clock,
      store,
      identity: owner,
      inbox: this.inbox,
      onCancel: (jid) => this.#manager.cancel(jid),
    });
    this.#listening = new Loop(this.#listener, { clock, tasks, log: log("listener") });
    if (Bounds.needed(settings)) this.#bounding = new Loop(this.#bounds(), { clock, tasks, log: log("bounds") });
    if (modules.length > 0) {
      this.#horses = new Horses({
        modules,
        enqueue: (jobs) => store.enqueue(jobs),
        graceMs: settings.graceMs,
        maxMemoryBytes: settings.maxMemoryBytes,
        maxJobs: settings.horseJobs,
        clock,
        log: log("horses"),
      });
    }
    if (Deno.pid === 1) {
      this.#reaper = new Reaper({ clock, log: log("reaper") });
      this.#reaping = new Loop(this.#reaper, { clock, tasks, log: log("reaper") });
    }
    this.#heartbeat = new Heartbeat({
      store,
      storeUrl: options.storeUrl,
      storeOptions: options.storeOptions ?? {},
      describe: () => this.describe(),
      onCommands: (commands) => this.#listener.hear(commands),
      onBeat: () => this.#hooks.heartbeat && void callHook(this.#log, "heartbeat", this.#hooks.heartbeat),
      intervalMs: settings.heartbeatMs,
      ttlMs: settings.deadAfterMs,
      clock,
      tasks,
      log: log("heartbeat"),
    });
  }

  /** The classes it can perform. */
  get classes(): readonly string[] {
    return this.#registry.classes();
  }

  /** The queues it takes from. */
  get queues(): readonly QueueWeight[] {
    return this.#queues;
  }

  /** Resolves when it has stopped, however that came about. */
  get finished(): Promise<void> {
    return this.#finished;
  }

  /**
   * Starts everything; resolves when it takes jobs.
   *
   * @throws {StoreError} when the process cannot be registered
   */
  async start(): Promise<void> {
    this.#lateErrors.start();
    try {
      await this.#heartbeat.start();
      await claimName(this.#options.store, this.#options.settings.name, this.identity);
      await this.#hooks.startup?.();
      this.#horses?.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.#listening.start();
    this.#reaping?.start();
    this.#manager.start();
    this.#startTaking();
    this.#bounding?.start();
    this.#finished = control(this.inbox, this, { tasks: this.#tasks, log: logger("control", this.#clock) });
  }

  /** Takes nothing more; running jobs go on. */
  async quiet(): Promise<void> {
    if (this.#quiet) return;
    this.#quiet = true;
    this.#fetcher.goQuiet();
    await Promise.all(this.#taking.map((service) => service.stop()));
    if (this.#hooks.quiet) await callHook(this.#log, "quiet", this.#hooks.quiet);
  }

  /** Ends being quiet: a deployment that failed need not leave a mute process behind. */
  resume(): void {
    if (!this.#quiet || this.#stopping) return;
    this.#quiet = false;
    this.#fetcher.resume();
    this.#startTaking();
  }

  /** Stops: waits for running jobs until the deadline. Calling it again makes it cold: at once. */
  stop(): Promise<void> {
    if (this.#stopping) this.#cold.abort();
    return this.#stopping ??= this.#stop();
  }

  /** What every task is doing, and the counts: lines of text. */
  dump(): string[] {
    return formatDump(dumpTasks(this.#tasks, this.#clock), {
      identity: this.identity,
      concurrency: this.#manager.concurrency,
      busy: this.#manager.busy,
      leases: this.#manager.busy + this.#fetcher.waiting + this.#settler.unsettled,
      waiting: this.#fetcher.waiting,
      unsettled: this.#settler.unsettled,
      loopDelayMs: this.#heartbeat.loopDelayMs,
      lateErrors: this.#lateErrors.count,
      quiet: this.#quiet,
    });
  }

  /** Reopens the log: what USR2 asks for. */
  reopen(): void {
    this.#options.onReopen?.();
  }

  /** Reads the configuration again: what HUP asks for. */
  async reload(): Promise<void> {
    await this.#options.onReload?.();
  }

  /** Applies those settings that may change while it runs. */
  apply(settings: Settings): void {
    this.#carryCrontab(settings);
    this.#queues = chooseQueues(settings.queues, this.#registry.queues());
    this.#timeoutMs = settings.timeoutMs;
    this.#fetcher.setOrder(queueOrder(this.#queues));
    this.#manager.resize(settings.concurrency);
  }

  /** What this process is and does, as of now. */
  describe(): ProcessRecord {
    const { settings } = this.#options;
    return {
      identity: this.identity,
      hostname: this.identity.slice(0, this.identity.indexOf(":")),
      pid: Deno.pid,
      tag: settings.name ?? settings.tag ?? "",
      labels: settings.labels,
      queues: [...new Set(this.#queues.map((queue) => queue.name))],
      weights: Object.fromEntries(this.#queues.map((queue) => [queue.name, queue.weight])),
      concurrency: this.#manager.concurrency,
      version: VERSION,
      startedAt: this.#startedAt,
      quiet: this.#quiet,
      busy: this.#manager.busy,
      rss: Deno.memoryUsage().rss,
      work: this.#manager.running(),
      totals: this.#totals.byClass(),
    };
  }

  #bounds(): Bounds {
    return new Bounds({
      clock: this.#clock,
      limits: this.#options.settings,
      activity: () => ({
        underWay: this.#manager.busy + this.#fetcher.waiting + this.#settler.unsettled,
        queuesEmpty: this.#fetcher.queuesEmpty,
        exhausted: this.#fetcher.exhausted,
      }),
      end: (why) => void (this.#stopping || this.inbox.put({ verb: "stop", by: why })),
    });
  }

  /** How each class is run. */
  #chooseWays(): ChosenWays {
    const { registry, settings } = this.#options;
    const { graceMs, maxResultBytes } = settings;
    return chooseWays(registry, {
      isolate: settings.isolate,
      inHorse: (job) => this.#horses!.perform(job),
      programs: settings.programs,
      asProgram: (command) => programHandler(command, { clock: this.#clock, graceMs, maxResultBytes }),
    });
  }

  /** @throws {CrontabError} when it is not usable: then it stays as it was */
  #carryCrontab(settings: Settings): void {
    const { cron: defined = [], environment = "development" } = this.#options;
    const queues = chooseQueues(settings.queues, this.#registry.queues()).map(({ name }) => name);
    const crontab = readCrontab({ configured: settings.cron, defined, environment, registry: this.#registry, queues });
    this.#scheduler.carry(crontab.entries, crontab.switchedOff);
  }

  #startTaking(): void {
    const { store, settings } = this.#options;
    const clock = this.#clock;
    const services = (name: string) => ({ clock, tasks: this.#tasks, log: logger(name, clock) });
    this.#taking = [
      new Loop(new Poller({ store, clock, log: logger("poller", clock) }), services("poller")),
      new Loop(
        new Rescuer({
          store,
          clock,
          log: logger("rescuer", clock),
          intervalMs: settings.heartbeatMs,
          maxRescues: settings.maxRescues,
        }),
        services("rescuer"),
      ),
      new Loop(this.#scheduler, services("scheduler")),
      new Loop(this.#fetcher, services("fetcher")),
    ];
    for (const service of this.#taking) void service.start();
  }

  async #stop(): Promise<void> {
    this.#options.onStopping?.();
    const steps: [string, () => Promise<void>][] = [
      ["bounds", async () => await this.#bounding?.stop()],
      ["quiet", () => this.quiet()],
      [
        "manager",
        async () => {
          const { signal } = this.#cold;
          await Promise.all([
            this.#manager.stop(this.#timeoutMs, signal),
            this.#localRuns.stop(this.#timeoutMs, signal),
          ]);
        },
      ],
      ["horses", async () => await this.#horses?.stop()],
      [
        "shutdown",
        async () => this.#hooks.shutdown && await callHook(this.#log, "shutdown", this.#hooks.shutdown),
      ],
      ["heartbeat", () => this.#heartbeat.stop()],
      ["listener", () => (this.#listener.end(), this.#listening.stop())],
      ["reaper", async () => (await this.#reaping?.stop(), this.#reaper?.close())],
      ["deregister", () => this.#options.store.deregister(this.identity)],
      ["late-errors", () => this.#lateErrors.stop()],
    ];
    for (const [name, step] of steps) {
      // One part that cannot stop must not keep the others from it.
      await step().catch((error) => this.#log.error("Could not stop cleanly", { part: name, error: error.message }));
    }
    this.#log.info("Stopped");
  }
}
