/** `jobs run`. @module */
import { systemClock } from "../../clock.ts";
import { checkReloaded, type LoadedConfig } from "../../config/load.ts";
import type { SettingName } from "../../config/settings.ts";
import type { Extensions } from "../../handlers/extensions.ts";
import type { Hooks } from "../../handlers/hooks.ts";
import { loadHandlers } from "../../handlers/load.ts";
import { misspelledOptions, unstoredSchemas } from "../../handlers/option_typos.ts";
import { HandlerError, Registry } from "../../handlers/registry.ts";
import { describeError } from "../../job/describe_error.ts";
import { type LogControl, logger, type LogOptions, openLog } from "../../log/log.ts";
import { guardConsole } from "../../log/output.ts";
import { hadTerminal, Inbox, listenToSignals } from "../../server/control/signals.ts";
import { ExitGuard } from "../../server/host/exit_guard.ts";
import { type MemberInfo, readMemberInfo, watchSupervisor } from "../../server/host/member.ts";
import { MemberLink } from "../../server/host/member_link.ts";
import { writePidfile } from "../../server/host/pidfile.ts";
import { Systemd } from "../../server/host/systemd.ts";
import { launch, type Launching } from "../../server/start.ts";
import { StartupSteps } from "../../server/startup_steps.ts";
import { formatQueues } from "../../server/work/queue_order.ts";
import { VERSION } from "../../version.ts";
import { EXIT_LEFT_PAUSED, reportLeftPaused } from "../shared/left_paused.ts";
import { pausedQueues } from "../../text/queues.ts";
import { handlerCheckOf, loadSettings, storeUrl } from "../shared/store.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { banner } from "../terminal/banner.ts";
import { UsageError } from "../terminal/errors.ts";
import { hasColor, printBanner, printError } from "../terminal/output.ts";
import { asMember, runMany } from "./run_many.ts";
import type { OpenWeb } from "./web_open.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs run [HANDLERS …] [OPTION …]

Runs a worker, which processes jobs until it is stopped. HANDLERS are modules,
and folders of modules, whose exported functions are handlers:
export async function ImportFile(ctx, path) { … }

  -q, --queue NAME[,WEIGHT]
                         process this queue; repeatable. Without weights in
                         strict order. Default: default, then the queues in
                         the handlers' options
  -c, --concurrency N    run at most this many jobs at once (10)
  -t, --shutdown-timeout TIME
                         on shutdown, wait this long for running jobs (25s)
      --processes N|auto run this many workers, or one per core
      --isolate CLASS,…  run these classes in isolated processes; '*' for all
      --max-memory SIZE  kill an isolated job that uses more, for example 512M;
                         with --processes, replace a worker that does
      --watch            for development: start again when the handlers, modules
                         next to them or the configuration change
      --burst            exit when the queues are empty
      --max-jobs N       exit after this many jobs
      --max-idle TIME    exit after this long without a job
      --name NAME        name of the worker, unique among online workers
      --tag WORD         label of the worker, shown in jobs workers
      --web [HOST:]PORT  also serve the dashboard (jobs web --help)
      --pid-file FILE    write the process ID to this file
      --log-file FILE    append the log to this file; USR2 reopens it
      --log-level LEVEL  debug, info, warn or error (info)
      --log-format FORMAT
                         auto, pretty or json

Signals: TERM and INT shut down, a second one at once. TSTP and USR1 stop
fetching, CONT resumes. TTIN logs what every task is doing, USR2 reopens the log
file, HUP reloads the configuration (jobs help signals).

Examples
  jobs run handlers.js
  jobs run handlers/ -q critical -q default -c 20
  jobs run handlers.js --web 7433 --log-level warn`;

/** Runs a worker. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("run", argv, {
    ...COMMON_FLAGS,
    queue: { takes: "list", short: "q" },
    concurrency: { takes: "text", short: "c" },
    "shutdown-timeout": { takes: "text", short: "t" },
    isolate: { takes: "text" },
    "max-memory": { takes: "text" },
    processes: { takes: "text" },
    watch: { takes: "switch" },
    burst: { takes: "switch" },
    "max-jobs": { takes: "text" },
    "max-idle": { takes: "text" },
    name: { takes: "text" },
    "pid-file": { takes: "text" },
    tag: { takes: "text" },
    "log-file": { takes: "text" },
    "log-level": { takes: "text" },
    "log-format": { takes: "text" },
    web: { takes: "text" },
  }, "[HANDLERS …]");
  const given: Partial<Record<SettingName, unknown>> = {
    handlers: args.length > 0 ? args : undefined,
    queues: flags.queue.length > 0 ? flags.queue : undefined,
    concurrency: flags.concurrency,
    shutdownTimeoutMs: flags["shutdown-timeout"],
    isolate: flags.isolate,
    maxMemoryBytes: flags["max-memory"],
    processes: flags.processes,
    burst: flags.burst ? "true" : undefined,
    maxJobs: flags["max-jobs"],
    maxIdleMs: flags["max-idle"],
    name: flags.name,
    pidFile: flags["pid-file"],
    tag: flags.tag,
    logFile: flags["log-file"],
    logLevel: flags["log-level"],
    logFormat: flags["log-format"] ?? (flags.json ? "json" : undefined),
    webListen: flags.web,
  };
  const member = readMemberInfo();
  const load = async () => {
    const config = await loadSettings(flags, given);
    return member ? asMember(config, member) : config;
  };
  const config = await load();
  await checkHandlers(config);
  if (flags.watch) return await (await import("./run_watch.ts")).runWatched(config, argv);
  if (config.settings.processes > 1) return await runMany(config, argv);
  const inbox = new Inbox();
  using _signals = listenToSignals(inbox);
  const registry = new Registry();
  // Before the handlers are loaded, which may keep a method of the console.
  guardConsole();
  // Handlers are loaded before the log is opened: they may configure logging themselves.
  const toStderr = {
    warn: () => printError("jobs: the handlers are still loading; a top-level await may never end"),
  };
  const starting = new StartupSteps({ clock: systemClock, log: toStderr, inbox });
  const stopWithParent = () => inbox.put({ verb: "stop", by: "end of the parent" });
  let extensions: Extensions;
  {
    using _watch = member && watchSupervisor(member, stopWithParent);
    const loaded = loadHandlers(config.settings.handlers, registry, handlerCheckOf(config));
    extensions = await starting.step("handlers", loaded);
  }
  const { logLevel: level, logFormat: format, logFile: file } = config.settings;
  const logOptions: LogOptions = { level, format, file, ...(member && { fields: { process: member.index } }) };
  using log = openLog(logOptions);
  const guard = new ExitGuard({ clock: systemClock, log: logger("run") });
  return await Promise.race([
    serve(config, registry, log, { load, member, inbox, guard, logOptions, extensions, stopWithParent }),
    guard.expired,
  ]);
}

/**
 * Refuses to start without handlers: every job would fail.
 *
 * @throws {UsageError} if none are named, or one that is named doesn't exist
 */
async function checkHandlers({ settings, origins, file }: LoadedConfig): Promise<void> {
  if (settings.handlers.length + settings.programs.length + settings.http.length === 0) {
    throw new UsageError(
      `Missing argument: HANDLERS. Usage: jobs run handlers.js, or set "handlers" in ${file ?? "jobs.json"}`,
    );
  }
  for (const path of settings.handlers) {
    const exists = await Deno.stat(path).then(() => true, (error) => !(error instanceof Deno.errors.NotFound));
    if (exists) continue;
    const from = origins.handlers === "flag" ? "" : ` (from ${origins.handlers})`;
    throw new UsageError(`Handlers "${path}" not found${from}: expected a module or a folder of modules`);
  }
}

/** Returns a warning for each queue in the handlers' options that the worker doesn't process. */
function unprocessedQueues(registry: Registry, processed: readonly { readonly name: string }[]): string[] {
  const names = new Set(processed.map(({ name }) => name));
  const missing = Map.groupBy(
    registry.list().filter(({ options }) => options.queue !== undefined && !names.has(options.queue)),
    ({ options }) => options.queue!,
  );
  return [...missing].map(([queue, handlers]) =>
    `This worker doesn't process queue "${queue}" of ${handlers.map(({ class: name }) => name).join(", ")}; ` +
    `add -q ${queue}, or run a worker that does`
  );
}

/**
 * Calls the hook `startup` of the handlers' modules.
 *
 * @throws {HandlerError} if it throws: it opens what the jobs need
 */
async function startupOf({ startup }: Hooks): Promise<void> {
  try {
    await startup?.();
  } catch (error) {
    const { class: name, message } = describeError(error);
    throw new HandlerError(`Hook "startup" failed, so the worker doesn't start: ${name}: ${message}`, { cause: error });
  }
}

async function serve(
  config: LoadedConfig,
  registry: Registry,
  log: LogControl,
  { load, member, inbox, guard, logOptions, extensions, stopWithParent }: {
    readonly load: () => Promise<LoadedConfig>;
    readonly member: MemberInfo | undefined;
    readonly inbox: Inbox;
    readonly guard: ExitGuard;
    readonly logOptions: LogOptions;
    readonly extensions: Extensions;
    readonly stopWithParent: () => void;
  },
): Promise<number> {
  const { settings, file } = config;
  const { hooks } = extensions;
  const say = logger("run");
  await using _pidfile = settings.pidFile === undefined ? undefined : await writePidfile(settings.pidFile);
  const web = settings.webListen === undefined ? undefined : await import("./web_beside.ts");
  await using systemd = Systemd.fromEnvironment(logger("systemd"));
  let peers: MemberLink | undefined;
  let dashboard: OpenWeb | undefined;
  let isPausedLeft = false;
  let reportLeft = async () => {};
  const prepare = async ({ launcher, store, startup, stack }: Launching) => {
    if (Deno.stderr.isTerminal() && member === undefined) printBanner(banner(!hasColor()));
    say.info("Starting", {
      version: VERSION,
      worker: launcher.workerId,
      store: store.url,
      config: file,
      queues: formatQueues(launcher.queues),
      concurrency: settings.concurrency,
      handlers: launcher.classes.join(" "),
    });
    if (member === undefined) { for (const warning of config.warnings) say.warn(warning); }
    // Of several processes, only the first warns.
    if (member === undefined || member.index === 1) {
      for (const warning of [...misspelledOptions(registry.list()), ...unstoredSchemas(registry.list())]) {
        say.warn(warning);
      }
    }
    for (const warning of unprocessedQueues(registry, launcher.queues)) say.warn(warning);
    if (member) {
      const counts = () => launcher.counts();
      peers = await MemberLink.join(member, { counts, clock: systemClock, onEnd: stopWithParent });
      if (peers) stack.use(peers);
      else stopWithParent();
    }
    const opened = web?.openBeside(config, { launcher, classes: registry.classes(), member, peers });
    dashboard = await startup.step("dashboard", opened);
    if (dashboard) stack.use(dashboard);
    reportLeft = async () => {
      // A signal ends a worker before its queues are empty: that isn't worth a line.
      if (!settings.burst || (await inbox.stopAsked).by !== "burst") return;
      const served = new Set(launcher.queues.map(({ name }) => name));
      isPausedLeft = await reportLeftPaused(store, (queue) => served.has(queue));
    };
    const paused = pausedQueues((await startup.step("queues", store.admin.stats())).queues);
    if (paused !== undefined) say.warn("Queues are paused; jobs resume ends it", { queues: paused });
  };
  const { launcher, isReady, closed } = await launch({
    storeUrl: storeUrl(settings),
    registry,
    settings,
    inbox,
    nonce: member?.nonce,
    predecessor: member?.predecessor,
    predecessorEnded: member?.predecessorEnded,
    guard: {
      timeoutMs: settings.shutdownTimeoutMs,
      parent: member?.parent,
      log: logOptions,
      hadTerminal: hadTerminal(),
    },
    environment: config.environment,
    catchAllErrors: true,
    prepare,
    performMiddleware: extensions.performMiddleware,
    pushMiddleware: extensions.pushMiddleware,
    hooks: {
      ...hooks,
      // Before the first job is taken: a job that computes would delay the message, and with it the other processes.
      startup: async () => {
        await startupOf(hooks);
        await peers?.ready(settings.shutdownTimeoutMs);
      },
      shutdown: async () => {
        await hooks.shutdown?.();
        await reportLeft();
      },
    },
    dumpOthers: () => dashboard?.dump() ?? [],
    onReopen: () => log.reopen(),
    onStopping: () => systemd?.stopping(),
    onStopped: (failure) => guard.arm(failure === undefined ? 0 : 1),
    readSettings: async () => {
      const again = await load();
      checkReloaded(config, again);
      return again.settings;
    },
    onSettings: ({ logLevel }) => log.setLevel(logLevel),
  });
  if (isReady) {
    say.info("Ready", { worker: launcher.workerId, web: dashboard?.url });
    systemd?.ready(`Taking jobs as ${launcher.workerId}`);
  }
  await closed;
  if (isReady && launcher.failure !== undefined) return 1;
  return isPausedLeft ? EXIT_LEFT_PAUSED : 0;
}
