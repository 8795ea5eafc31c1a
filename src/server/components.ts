/**
 * The parts of a server, built and put together. Nothing here starts or stops: that is the launcher's.
 *
 * @module
 */
import { Client } from "../client/client.ts";
import type { Clock } from "../clock.ts";
import { HorsePool } from "../handlers/isolation/pool.ts";
import { programHandler } from "../handlers/isolation/program.ts";
import type { Registry } from "../handlers/registry.ts";
import { chooseExecutionModes } from "../handlers/execution_modes.ts";
import { logger } from "../log/log.ts";
import type { StoreError } from "../store/port/errors.ts";
import { AutoStop } from "./control/auto_stop.ts";
import { Burial } from "./work/burial.ts";
import { ClassSync, declaredWithin } from "./stats/class_sync.ts";
import { CronDecider } from "./schedule/cron_decider.ts";
import { CronReporter } from "./schedule/cron_reporter.ts";
import { Timeouts } from "./work/timeouts.ts";
import { Fetcher } from "./work/fetcher.ts";
import { Heartbeat } from "./liveness/heartbeat.ts";
import { callHook } from "./hooks.ts";
import { UnhandledErrors } from "./work/unhandled_errors.ts";
import type { LauncherOptions } from "./launcher_options.ts";
import { RemoteCommands } from "./control/remote_commands.ts";
import { InProcessRuns } from "./schedule/in_process_runs.ts";
import { LostLeases } from "./liveness/lost_leases.ts";
import { Manager } from "./work/manager.ts";
import { MetricsRecorder } from "./stats/metrics_recorder.ts";
import { OutageLog } from "./outage_log.ts";
import { LeaseGuard } from "./work/lease_guard.ts";
import { Poller } from "./schedule/poller.ts";
import { chooseQueues, queueOrder } from "./work/queue_order.ts";
import { Reaper } from "./host/reaper.ts";
import { ResultRecorder } from "./work/result_recorder.ts";
import { Rescuer } from "./liveness/rescuer.ts";
import { Retrier } from "./work/retrier.ts";
import { Scheduler } from "./schedule/scheduler.ts";
import { Loop, type LoopBody, type Service } from "./service.ts";
import { Settler } from "./work/settler.ts";
import { stepRunners } from "../steps/lease.ts";
import { Suspects } from "./work/suspects.ts";
import type { Inbox } from "./control/signals.ts";
import { Counters } from "./stats/counters.ts";
import { Tasks } from "./control/tasks.ts";
import { UnstartedJobs } from "./work/unstarted.ts";
import { ClassCounters } from "./stats/class_counters.ts";
import type { WorkerRecord } from "../store/port/workers.ts";

/** What the parts need of the launcher. */
export interface LauncherHooks {
  /** `hostname:pid:nonce`. */
  readonly identity: string;
  readonly clock: Clock;
  readonly inbox: Inbox;
  /** What the process is and does, as of now. */
  readonly describe: () => WorkerRecord;
  /** Ends the server, unless that is under way. */
  readonly end: (why: string) => void;
  /** Whether it stops: durable steps then end at the next one. */
  readonly isStopping: () => boolean;
  /** The same, because it cannot go on. */
  readonly fail: (error: StoreError) => void;
}

/** The parts. */
export interface Components {
  /** The classes, each with the way it is run. */
  readonly registry: Registry;
  readonly tasks: Tasks;
  readonly classCounters: ClassCounters;
  readonly counters: Counters;
  readonly classSync: ClassSync;
  readonly declaring: Service;
  readonly metricsRecorder: MetricsRecorder;
  readonly measuring: Service;
  readonly client: Client;
  readonly unhandledErrors: UnhandledErrors;
  readonly settler: Settler;
  readonly fetcher: Fetcher;
  readonly manager: Manager;
  readonly inProcessRuns: InProcessRuns;
  readonly scheduler: Scheduler;
  readonly remoteCommands: RemoteCommands;
  readonly listening: Service;
  readonly heartbeat: Heartbeat;
  /** Only when some class runs in horses. */
  readonly horses: HorsePool | undefined;
  /** Only when it is to end by itself. */
  readonly autoStop: Service | undefined;
  /** Only as process 1 of a container. */
  readonly reaper: Reaper | undefined;
  readonly reaping: Service | undefined;
  /** Makes what takes jobs out of the store, or moves them to where they are taken: anew each time it is to begin. */
  readonly taking: () => Service[];
}

/** Builds the parts of a server. */
export function buildComponents(options: LauncherOptions, launcher: LauncherHooks): Components {
  const { store, settings } = options;
  const { identity: owner, clock, inbox, fail } = launcher;
  const log = (name: string) => logger(name, clock);
  const tasks = new Tasks(clock);
  const outage = new OutageLog(options.storeUrl);
  const loop = <Result>(body: LoopBody<Result>) => new Loop(body, { clock, tasks, log: log(body.name), fail, outage });
  const { killAfterMs, maxResultBytes } = settings;
  const { registry, modules, isolated } = chooseExecutionModes(options.registry, {
    isolate: settings.isolate,
    inHorse: (job) => horses!.perform(job),
    programs: settings.programs,
    asProgram: (command) => programHandler(command, { clock, killAfterMs, maxResultBytes }),
  });
  const horses = modules.length > 0 ? newHorses(options, modules, registry, clock) : undefined;
  const classCounters = new ClassCounters();
  const counters = new Counters();
  const classSync = new ClassSync({ store, registry, clock });
  const metricsRecorder = new MetricsRecorder({ store, classCounters, clock, log: log("metrics-recorder"), outage });
  const hooks = options.hooks ?? {};

  const client = new Client({
    store,
    clock,
    maxPayloadBytes: settings.maxPayloadBytes,
    sidekiqWire: settings.sidekiqWire,
    classOptions: (name) => registry.get(name)?.options,
    onUnregistered: (name) =>
      log("client").warn("Pushed a class that isn't registered: its queue, retries and lock are unknown here", {
        class: name,
      }),
    ...(options.pushMiddleware && { middleware: options.pushMiddleware }),
    ...(options.batchMiddleware && { batchMiddleware: options.batchMiddleware }),
  });
  const unhandledErrors = new UnhandledErrors({
    log: log("unhandled-errors"),
    catchAll: options.catchAllErrors ?? false,
  });
  const settler = new Settler({
    store,
    owner,
    clock,
    log: log("settler"),
    counters,
    fail,
    outage,
    onLost: () => void lostLeases.suspect(),
  });
  const order = queueOrder(chooseQueues(settings.queues, registry.queues()));
  const leaseGuard: LeaseGuard = new LeaseGuard({
    clock,
    ttlMs: settings.heartbeatTimeoutMs,
    sendHeartbeat: () => heartbeat.step(),
    dropLost: () => lostLeases.dropLost(),
  });
  const suspects = new Suspects({
    store,
    owner,
    clock,
    log: log("suspects"),
    outage,
    isIsolated: (className) => isolated.has(className),
  });
  const unstarted = new UnstartedJobs();
  const fetcher = new Fetcher({
    store,
    owner,
    clock,
    settler,
    order,
    leaseGuard,
    unstarted,
    suspects,
    maxJobs: settings.maxJobs,
  });
  const services = {
    clock,
    tasks,
    fetcher,
    settler,
    retrier: new Retrier({ clock, settings, registry, hooks, log: log("retrier") }),
    registry,
    classCounters,
    results: new ResultRecorder({ clock, settings, registry, owner }),
    timeouts: new Timeouts({ clock, killAfterMs: settings.killAfterMs, log: log("timeouts") }),
    unhandledErrors,
    client,
    stepRunner: stepRunners({ store, owner, clock, client, isStopping: launcher.isStopping }),
    middleware: options.performMiddleware ?? [],
    log: log("processor"),
  };
  const manager = new Manager(services, { concurrency: settings.concurrency, log: log("manager") });
  const lostLeases = new LostLeases({ store, owner, holders: [fetcher, manager], log: log("lost-leases"), counters });
  const inProcessRuns = new InProcessRuns(services);
  const report = new CronReporter(log("scheduler"), counters);
  const decider = new CronDecider({ client, report, local: inProcessRuns });
  const scheduler = new Scheduler({ store, clock, log: log("scheduler"), decider, report });
  const onCancel = (jid: string) => manager.cancel(jid);
  const remoteCommands = new RemoteCommands({ clock, store, identity: owner, inbox, onCancel });
  const heartbeat = new Heartbeat({
    store,
    storeUrl: options.storeUrl,
    storeOptions: options.storeOptions ?? {},
    describe: launcher.describe,
    onCommands: (commands) => remoteCommands.hear(commands),
    onBeat: ({ lapsed, sentAt }) => {
      leaseGuard.beat(sentAt, lapsed);
      void lostLeases.beat(lapsed);
      if (hooks.heartbeat) void callHook(log("launcher"), "heartbeat", hooks.heartbeat);
    },
    unstarted,
    onReturned: (tokens) => fetcher.returned(tokens),
    onUnsure: (tokens) => fetcher.release(tokens),
    onGone: fail,
    outage,
    intervalMs: settings.heartbeatMs,
    ttlMs: settings.heartbeatTimeoutMs,
    orphan: options.parent === undefined
      ? undefined
      : { parent: options.parent, timeoutMs: settings.shutdownTimeoutMs },
    clock,
    tasks,
    log: log("heartbeat"),
  });
  const rescuer = new Rescuer({
    store,
    burial: new Burial(store, services),
    owner,
    clock,
    log: log("rescuer"),
    counters,
    intervalMs: settings.heartbeatMs,
    maxRescues: settings.maxRescues,
  });
  const activity = () => ({
    underWay: manager.busy + fetcher.waiting + settler.unsettled,
    queuesEmpty: fetcher.queuesEmpty,
    exhausted: fetcher.exhausted,
  });
  const reaper = Deno.pid === 1 ? new Reaper({ clock, log: log("reaper") }) : undefined;
  return {
    registry,
    tasks,
    classCounters,
    counters,
    classSync,
    declaring: loop(classSync),
    metricsRecorder,
    measuring: loop(metricsRecorder),
    client,
    unhandledErrors,
    settler,
    fetcher,
    manager,
    inProcessRuns,
    scheduler,
    remoteCommands,
    listening: loop(remoteCommands),
    heartbeat,
    horses,
    autoStop: AutoStop.needed(settings)
      ? loop(
        new AutoStop({
          clock,
          limits: settings,
          activity,
          hasQueuedJobs: async () => !fetcher.quiet && (rescuer.hasWork || await fetcher.hasQueuedJobs()),
          end: launcher.end,
        }),
      )
      : undefined,
    reaper,
    reaping: reaper && loop(reaper),
    taking: () => [
      loop(new Poller({ store, clock, log: log("poller") })),
      loop(rescuer),
      loop(scheduler),
      loop(fetcher),
    ],
  };
}

function newHorses(
  { store, settings }: LauncherOptions,
  modules: readonly string[],
  registry: Registry,
  clock: Clock,
): HorsePool {
  return new HorsePool({
    modules,
    store: { jobs: store.jobs, classes: { read: declaredWithin(registry, store) } },
    killAfterMs: settings.killAfterMs,
    maxMemoryBytes: settings.maxMemoryBytes,
    maxJobs: settings.maxJobsPerIsolatedProcess,
    clock,
    log: logger("horses", clock),
  });
}
