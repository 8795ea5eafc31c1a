/** `jobs run`. @module */
import { systemClock } from "../../clock.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { SettingName } from "../../config/settings.ts";
import { loadHandlers } from "../../handlers/load.ts";
import { misspelledOptions } from "../../handlers/option_typos.ts";
import { Registry } from "../../handlers/registry.ts";
import { type LogControl, logger, openLog } from "../../log/log.ts";
import { ExitGuard } from "../../server/host/exit_guard.ts";
import { type MemberInfo, readMemberInfo } from "../../server/host/member.ts";
import { MemberLink } from "../../server/host/member_link.ts";
import { writePidfile } from "../../server/host/pidfile.ts";
import { Inbox, listenToSignals } from "../../server/control/signals.ts";
import { launch, type Launching } from "../../server/start.ts";
import { StartupSteps } from "../../server/startup_steps.ts";
import { formatQueues } from "../../server/work/queue_order.ts";
import { Systemd } from "../../server/host/systemd.ts";
import { VERSION } from "../../version.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { banner } from "../terminal/banner.ts";
import { printError } from "../terminal/output.ts";
import { pausedQueues } from "../shared/pause_queues.ts";
import { asMember, runMany } from "./run_many.ts";
import { loadSettings, storeUrl } from "../shared/store.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs run [HANDLERS …] [OPTION …]

Processes jobs until told to stop. HANDLERS are modules and folders of modules whose exported functions are handlers:
export async function HardJob(ctx, name, count) { … }

  -q, --queue NAME[,WEIGHT]   take from this queue; repeat for more. Without weights in strict order.
                              Default: default, then those that handlers name in their options
  -c, --concurrency N         how many jobs at once (10)
  -t, --shutdown-timeout DURATION
                              how long a stop waits for running jobs (25s)
  -C, --config FILE           the configuration; else jobs.json, .jsonc, .yml or .yaml in this folder
  -e, --environment NAME      the configuration's section under "environments"
      --isolate CLASS,…       run these classes in processes of their own; '*' for all
      --max-memory AMOUNT     kill an isolated job that uses more: 512M; with --processes, replace a process that does
      --processes N|auto      keep so many processes running, one per core with auto
      --store URL             where jobs are kept
      --burst                 end when the queues are empty; what is scheduled is left alone
      --max-jobs N            end after so many jobs
      --max-idle DURATION     end when there was nothing to do for so long
      --name NAME             shown beside the process; refused while a live process has it
      --pid-file FILE          say there which process this is; refused while that process is alive
      --tag WORD              shown beside the process in jobs ps
      --log-file FILE          append the log there; USR2 reopens it
      --log-level LEVEL       debug, info, warn or error (info)
      --log-format FORMAT     auto, pretty or json
      --web [HOST:]PORT       show the dashboard there, too (see jobs web --help)

Signals: TERM and INT stop (twice: at once), TSTP and USR1 take no more jobs, CONT takes jobs again, TTIN prints what
every task is doing, USR2 reopens the log file, HUP reads queues, concurrency, timeout, crontab and log level again.
With --processes, signals are passed on to each, and HUP replaces the processes one at a time.`;

/** Runs a server. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("run", argv, {
    ...COMMON_FLAGS,
    queue: { takes: "list", short: "q" },
    concurrency: { takes: "text", short: "c" },
    "shutdown-timeout": { takes: "text", short: "t" },
    isolate: { takes: "text" },
    "max-memory": { takes: "text" },
    processes: { takes: "text" },
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
  });
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
  if (config.settings.processes > 1) return await runMany(config, argv);
  const inbox = new Inbox();
  using _signals = listenToSignals(inbox);
  const registry = new Registry();
  // The log is opened after them, because they may set up one of their own.
  const toStderr = {
    warn: () => printError("jobs: the handlers are still being loaded: is there a top-level await that does not end?"),
  };
  await new StartupSteps({ clock: systemClock, log: toStderr, inbox })
    .step("handlers", loadHandlers(config.settings.handlers, registry));
  using log = openLog({
    level: config.settings.logLevel,
    format: config.settings.logFormat,
    file: config.settings.logFile,
  });
  const guard = new ExitGuard({ clock: systemClock, log: logger("run") });
  return await Promise.race([serve(config, registry, log, { load, member, inbox, guard }), guard.expired]);
}

async function serve(
  config: LoadedConfig,
  registry: Registry,
  log: LogControl,
  { load, member, inbox, guard }: {
    readonly load: () => Promise<LoadedConfig>;
    readonly member: MemberInfo | undefined;
    readonly inbox: Inbox;
    readonly guard: ExitGuard;
  },
): Promise<number> {
  const { settings, file } = config;
  const say = logger("run");
  await using _pidfile = settings.pidFile === undefined ? undefined : await writePidfile(settings.pidFile);
  const web = settings.webListen === undefined ? undefined : await import("./web_beside.ts");
  await using systemd = Systemd.fromEnvironment(logger("systemd"));
  const stopWithParent = () => inbox.put({ verb: "stop", by: "end of the parent" });
  let peers: MemberLink | undefined;
  let dashboardUrl: string | undefined;
  const prepare = async ({ launcher, store, startup, stack }: Launching) => {
    if (Deno.stderr.isTerminal() && member === undefined) printError(banner(Deno.noColor));
    say.info("Starting", {
      version: VERSION,
      identity: launcher.identity,
      store: store.url,
      config: file,
      queues: formatQueues(launcher.queues),
      concurrency: settings.concurrency,
      handlers: launcher.classes.join(" "),
    });
    if (member === undefined) { for (const warning of config.warnings) say.warn(warning); }
    // Of several processes, only the first warns.
    if (member === undefined || member.index === 1) {
      for (const warning of misspelledOptions(registry.list())) say.warn(warning);
    }
    if (launcher.classes.length === 0) {
      say.warn("No handlers: every job will fail; name modules with handlers: jobs run HANDLERS.js");
    }
    if (member) {
      const counts = () => launcher.counts();
      peers = await MemberLink.join(member, { counts, clock: systemClock, onEnd: stopWithParent });
      if (peers) stack.use(peers);
      else stopWithParent();
    }
    const opened = web?.openBeside(config, { launcher, classes: registry.classes(), member, peers });
    const dashboard = await startup.step("dashboard", opened);
    if (dashboard) dashboardUrl = stack.use(dashboard).url;
    const paused = pausedQueues((await startup.step("queues", store.admin.stats())).queues);
    if (paused !== undefined) say.warn("Paused: no jobs are taken from there until jobs resume", { queues: paused });
  };
  const { launcher, isReady, closed } = await launch({
    storeUrl: storeUrl(settings),
    registry,
    settings,
    inbox,
    nonce: member?.nonce,
    predecessor: member?.predecessor,
    predecessorEnded: member?.predecessorEnded,
    parent: member?.parent,
    environment: config.environment,
    catchAllErrors: true,
    prepare,
    hooks: {
      // Before the first job is taken: a job that computes would delay the message, and with it the other processes.
      startup: () => peers?.ready(),
    },
    onReopen: () => log.reopen(),
    onStopping: () => systemd?.stopping(),
    onStopped: (failure) => guard.arm(failure === undefined ? 0 : 1),
    readSettings: async () => (await load()).settings,
    onSettings: ({ logLevel }) => log.setLevel(logLevel),
  });
  if (isReady) {
    say.info("Ready", { identity: launcher.identity, web: dashboardUrl });
    systemd?.ready(`Taking jobs as ${launcher.identity}`);
  }
  await closed;
  return isReady && launcher.failure !== undefined ? 1 : 0;
}
