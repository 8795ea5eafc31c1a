/**
 * The components of a worker: built here, and connected. The launcher starts and stops them.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { Endpoints } from "../handlers/http/endpoints.ts";
import type { HorsePool } from "../handlers/isolation/pool.ts";
import type { Registry } from "../handlers/registry.ts";
import { StopNotice } from "../handlers/stop_notice.ts";
import { streamWriters } from "../handlers/stream_writer.ts";
import { logger } from "../log/log.ts";
import { stepRunners } from "../steps/lease.ts";
import { type Component, Loop, type LoopBody, SHUTDOWN_HOOK_SHARE } from "./component.ts";
import { AutoStop } from "./control/auto_stop.ts";
import { Cancellations, RemoteCommands } from "./control/remote_commands.ts";
import { TaskBoard } from "./control/task_board.ts";
import { Tasks } from "./control/tasks.ts";
import { executionOf, newClient } from "./execution.ts";
import { callHook } from "./hooks.ts";
import { Reaper } from "./host/reaper.ts";
import type { Guest, LauncherHooks, LauncherOptions } from "./launcher_options.ts";
import { hasThread, Heartbeat, startThread } from "./liveness/heartbeat.ts";
import { LostLeases } from "./liveness/lost_leases.ts";
import { Rescuer } from "./liveness/rescuer.ts";
import { UniqueName } from "./liveness/unique_name.ts";
import { LoggedStepOutage, OutageLog } from "./outage_log.ts";
import { OutboxComponent } from "./outbox/outbox.ts";
import { BatchTender } from "./schedule/batch_tender.ts";
import { CronDecider } from "./schedule/cron_decider.ts";
import { CronReporter } from "./schedule/cron_reporter.ts";
import { InProcessRuns } from "./schedule/in_process_runs.ts";
import { Poller } from "./schedule/poller.ts";
import { Scheduler } from "./schedule/scheduler.ts";
import { ClassSync } from "./stats/class_sync.ts";
import { ClassCounters, Counters } from "./stats/counters.ts";
import { MetricsRecorder } from "./stats/metrics_recorder.ts";
import { Announcer } from "./work/announcer.ts";
import { Burial } from "./work/burial.ts";
import { Fetcher } from "./work/fetcher.ts";
import { HandlerExit } from "./work/handler_exit.ts";
import { LeaseGuard } from "./work/lease_guard.ts";
import { LoopShare } from "./work/loop_share.ts";
import { Manager } from "./work/manager.ts";
import { chooseQueues, queueOrder } from "./work/queue_order.ts";
import { ResultRecorder } from "./work/result_recorder.ts";
import { Retrier } from "./work/retrier.ts";
import { Settler } from "./work/settler.ts";
import { Suspects } from "./work/suspects.ts";
import { Timeouts } from "./work/timeouts.ts";
import { UnhandledErrors } from "./work/unhandled_errors.ts";
import { UnstartedJobs } from "./work/unstarted.ts";
import { Work } from "./work/work.ts";

export interface Components {
  /** In start order. They stop in reverse. */
  readonly all: readonly Component[];
  /** The handlers, each with its execution mode. */
  readonly registry: Registry;
  readonly tasks: Tasks;
  readonly classCounters: ClassCounters;
  readonly counters: Counters;
  readonly client: Client;
  readonly unhandledErrors: UnhandledErrors;
  readonly settler: Settler;
  readonly fetcher: Fetcher;
  readonly suspects: Suspects;
  readonly manager: Manager;
  readonly scheduler: Scheduler;
  readonly heartbeat: Heartbeat;
  readonly lostLeases: LostLeases;
  readonly work: Work;
  readonly batchTender: BatchTender;
  /** The work of any worker for all: promotes, rescues, enqueues the occurrences of cron entries, tends batches. */
  readonly chores: readonly { start(): void }[];
  /** Undefined if no class is isolated. */
  readonly horses: HorsePool | undefined;
  readonly endpoints: Endpoints;
  /** Undefined if none is configured. */
  readonly outbox: OutboxComponent | undefined;
}

/** Doesn't start a component with the others: {@linkcode Components.chores}. */
function idle(component: Component): Component {
  return { name: component.name, stop: (budget) => component.stop?.(budget) };
}

/** Starts the loop, and waits until the subscriptions are known: no end may be missed. */
function announcing(loop: Loop<Announcer>): Component {
  return {
    name: loop.name,
    start: () => {
      loop.start();
      return loop.body.known;
    },
    stop: (budget) => loop.stop(budget),
  };
}

/** Gives the jobs of a guest to the processors. Its heartbeat has been sent: they can't be rescued any more. */
function adoption({ adopt }: Guest, { buffer }: Fetcher): Component {
  return { name: "adoption", start: async () => buffer.add(await adopt()) };
}

export function buildComponents(options: LauncherOptions, launcher: LauncherHooks): Components {
  const { store, settings } = options;
  const { workerId: worker, clock, inbox, fail } = launcher;
  const log = (name: string) => logger(name, clock);
  const board = new TaskBoard();
  const beats = { storeUrl: options.storeUrl, isDriven: options.guest !== undefined, guard: options.guard };
  const tasks = new Tasks(clock, hasThread(beats) ? board : undefined);
  const outage = new OutageLog(options.storeUrl);
  // deno-lint-ignore no-explicit-any -- see `Loop`
  const loop = <Body extends LoopBody<any>>(body: Body) =>
    new Loop(body, { clock, tasks, log: log(body.name), fail, outage });
  const { registry, isolated, horses, endpoints } = executionOf(
    options,
    launcher,
    (signal) => leaseGuard.recheck(signal),
  );
  const classCounters = new ClassCounters();
  const counters = new Counters();
  const classSync = loop(new ClassSync({ store, registry, clock, worker, within: options.guest?.within }));
  const announcer = options.guest?.announcer ??
    new Announcer({
      store,
      clock,
      worker,
      log: log("announcer"),
      configured: settings.webhooks?.map(({ subscription }) => subscription),
      eventTtlMs: settings.eventTtlMs,
    });
  const hooks = options.hooks ?? {};
  const forHooks = { log: log("launcher"), clock };

  const client = newClient(options, registry, clock);
  const unhandledErrors = new UnhandledErrors({
    log: log("unhandled-errors"),
    catchAll: options.catchAllErrors ?? false,
  });
  const unstarted = new UnstartedJobs();
  const heartbeat = new Heartbeat({
    ...beats,
    store,
    storeOptions: options.storeOptions ?? {},
    describe: launcher.describe,
    unstarted,
    onGone: fail,
    outage,
    startThread: options.startThread ?? startThread,
    intervalMs: settings.heartbeatMs,
    ttlMs: settings.heartbeatTimeoutMs,
    board,
    clock,
    tasks,
    log: log("heartbeat"),
  });
  const lostLeases = new LostLeases({ store, worker, log: log("lost-leases"), counters });
  const leaseGuard = new LeaseGuard({
    clock,
    ttlMs: settings.heartbeatTimeoutMs,
    sendHeartbeat: () => heartbeat.step(),
    dropLost: () => lostLeases.dropLost(),
  });
  heartbeat.listen({
    beat: ({ lapsed, sentAt }) => {
      leaseGuard.noteHeartbeat(sentAt, lapsed);
      void lostLeases.beat(lapsed);
      if (hooks.heartbeat) void callHook(forHooks, "heartbeat", hooks.heartbeat);
    },
  });
  const batchTender = new BatchTender({ store, clock, log: log("batch-tender") });
  const settler = new Settler({
    store,
    worker,
    clock,
    log: log("settler"),
    counters,
    fail,
    outage,
    onLost: () => void lostLeases.suspect(),
    onNodes: options.guest?.onNodes ?? batchTender.wake,
  });
  const order = queueOrder(chooseQueues(settings.queues, registry.queues()));
  const suspects = new Suspects({
    store,
    worker,
    clock,
    log: log("suspects"),
    outage,
    isIsolated: (className) => isolated.has(className),
    program: options.guest,
  });
  const fetcher = new Fetcher({
    store,
    worker,
    clock,
    settler,
    order,
    classes: registry.classes(),
    leaseGuard,
    unstarted,
    suspects,
    maxJobs: settings.maxJobs,
    demand: options.guest?.demand,
  });
  lostLeases.watch(fetcher);
  heartbeat.listen({
    returned: (tokens) => fetcher.returned(tokens),
    unsure: (tokens) => fetcher.release(tokens),
  });
  const stopNotice = new StopNotice();
  const services = {
    clock,
    tasks,
    buffer: fetcher.buffer,
    settler,
    retrier: new Retrier({ clock, settings, registry, hooks, log: log("retrier"), worker }),
    registry,
    classCounters,
    stopNotice,
    results: new ResultRecorder({ clock, settings, registry, worker, log: log("processor") }),
    timeouts: new Timeouts({ clock, killAfterMs: settings.killAfterMs, log: log("timeouts") }),
    loopShare: new LoopShare(clock),
    unhandledErrors,
    client,
    worker,
    batches: store.batches,
    listener: announcer,
    transactions: store.transactions,
    stepRunner: stepRunners({
      store,
      worker,
      clock,
      client,
      ...(options.aroundStep && { around: options.aroundStep }),
      outage: new LoggedStepOutage(log("steps"), outage),
    }),
    streamWriter: streamWriters({ store, worker, clock }),
    middleware: options.performMiddleware ?? [],
    log: log("processor"),
  };
  const manager = new Manager(services, { concurrency: settings.concurrency, log: log("manager") });
  lostLeases.watch(manager);
  const inProcessRuns = new InProcessRuns(services);
  const report = new CronReporter(log("scheduler"), counters);
  const decider = new CronDecider({ client, report, local: inProcessRuns, announcer });
  const scheduler = new Scheduler({ store, clock, log: log("scheduler"), decider, report });
  const cancelHere = (jid: string) => manager.cancel(jid);
  const cancellations = new Cancellations({ store, clock, tasks, log: log("remote-commands"), worker, cancelHere });
  const remoteCommands = new RemoteCommands({
    ...{ store, inbox, tasks, cancellations },
    report: (lease, report) => manager.report(lease, report),
  });
  heartbeat.listen({ commands: (commands) => remoteCommands.accept(commands) });
  const rescuer = loop(
    new Rescuer({
      store,
      burial: new Burial(store, services),
      worker,
      clock,
      log: log("rescuer"),
      counters,
      intervalMs: settings.heartbeatMs,
      maxRescues: settings.maxRescues,
    }),
  );
  const poller = new Poller({ store, clock, log: log("poller") });
  const chores = [loop(poller), rescuer, loop(scheduler)];
  const tending = loop(batchTender);
  const work = new Work({
    stopNotice,
    manager,
    fetcher,
    settler,
    inProcessRuns,
    clock,
    taking: [...options.guest ? [] : chores, loop(fetcher)],
    timeoutMs: launcher.timeoutMs,
    cold: launcher.cold,
    onQuiet: async () => {
      if (hooks.quiet) await callHook(forHooks, "quiet", hooks.quiet);
    },
  });
  const autoStop = new AutoStop({
    clock,
    limits: settings,
    activity: () => ({
      unfinished: manager.busy + fetcher.waiting + settler.unsettled,
      taken: fetcher.taken,
      queuesEmpty: fetcher.queuesEmpty,
      exhausted: fetcher.exhausted,
    }),
    hasQueuedJobs: async () => {
      if (fetcher.quiet) return false;
      // The job that has just ended may have made its parent due, and the poller may not have been notified.
      await poller.step();
      return rescuer.body.hasWork || await fetcher.hasQueuedJobs();
    },
    end: launcher.end,
  });
  const outbox = settings.outbox === undefined
    ? undefined
    : new OutboxComponent({ url: settings.outbox, client, settings, clock, log: log("outbox"), loop });
  const uniqueName = new UniqueName({
    ...{ store, worker, clock, log: log("launcher") },
    name: settings.name,
    ttlMs: settings.heartbeatTimeoutMs,
    predecessor: options.predecessor,
    predecessorEnded: options.predecessorEnded,
  });
  heartbeat.listen(uniqueName);
  heartbeat.listen(classSync.body);
  if (options.guest?.announcer === undefined) heartbeat.listen(announcer);
  const all: Component[] = [
    // Those of this program, in which a guest has no code.
    ...options.guest ? [] : [
      { name: "unhandled-errors", start: () => unhandledErrors.start(), stop: () => unhandledErrors.stop() },
      new HandlerExit({ log: log("handler-exit"), current: () => unhandledErrors.current }),
    ],
    heartbeat,
    uniqueName,
    {
      name: "hooks",
      start: async () => void await hooks.startup?.(),
      stop: async (budget) => {
        if (hooks.shutdown) await budget?.within(callHook(forHooks, "shutdown", hooks.shutdown), SHUTDOWN_HOOK_SHARE);
      },
    },
    ...horses ? [{ name: "horses", start: () => horses.start(), stop: () => horses.stop() }] : [],
    {
      name: classSync.name,
      start: () => {
        classSync.start();
        return classSync.body.attempted;
      },
      stop: (budget) => classSync.stop(budget),
    },
    ...options.guest ? [] : [announcing(loop(announcer))],
    remoteCommands,
    // As process 1 of a container.
    ...Deno.pid === 1 && !options.guest ? [loop(new Reaper({ clock, log: log("reaper") }))] : [],
    ...AutoStop.needed(settings) ? [loop(autoStop)] : [],
    ...options.guest ? [...chores, tending].map(idle) : [tending],
    loop(new MetricsRecorder({ store, classCounters, clock, log: log("metrics-recorder"), outage })),
    ...outbox ? [options.guest ? idle(outbox) : outbox] : [],
    ...options.guest ? [adoption(options.guest, fetcher)] : [],
    work,
  ];
  return {
    ...{ all, registry, tasks, classCounters, counters, client, unhandledErrors },
    ...{ settler, fetcher, suspects, manager, scheduler, heartbeat, lostLeases, work, horses },
    ...{ endpoints, batchTender, outbox },
    chores: [...chores, tending, ...outbox ? [{ start: () => void outbox.startLate() }] : []],
  };
}
