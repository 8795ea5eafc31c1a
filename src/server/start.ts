/**
 * Starts a server: opens tracing and the store, starts the launcher, and closes everything after it has stopped.
 * {@linkcode startServer} is for programs that embed one; `jobs run` calls {@linkcode launch}, and adds what belongs to
 * its process.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { PushMiddleware } from "../client/middleware.ts";
import { systemClock } from "../clock.ts";
import { defaultSettings, type Settings } from "../config/settings.ts";
import type { CronEntryInput } from "../cron/entry.ts";
import type { JobDefinition, PerformMiddleware } from "../handlers/handler.ts";
import type { Hooks } from "../handlers/hooks.ts";
import { misspelledOptions, unstoredSchemas } from "../handlers/option_typos.ts";
import { Registry } from "../handlers/registry.ts";
import { isLoggingConfigured, LogError, logger, type LogOptions, openLog } from "../log/log.ts";
import { openStore, type StoreOptions } from "../store/open.ts";
import { openTracing, type Tracing } from "../tracing/tracing.ts";
import { Inbox, listenToSignals } from "./control/signals.ts";
import { Launcher } from "./launcher.ts";
import type { LauncherOptions } from "./launcher_options.ts";
import { StartupSteps } from "./startup_steps.ts";

/** A server that is about to start. */
export interface Launching {
  readonly launcher: Launcher;
  /** With every part, for what runs next to the launcher. The launcher itself has a `ServerStore`. */
  readonly store: Awaited<ReturnType<typeof openStore>>;
  /** Runs a step that may take long: a stop request ends it, and the log names it if it hangs. */
  readonly startup: StartupSteps;
  /** Closes what it holds after the launcher has stopped, before the store is closed. */
  readonly stack: AsyncDisposableStack;
}

export interface LaunchOptions extends Omit<LauncherOptions, "store"> {
  /** Called before the launcher starts: opens what runs next to it. */
  readonly prepare?: (launching: Launching) => void | Promise<void>;
}

/** A server that has started, or was asked to stop before it had. */
export interface Launched {
  readonly launcher: Launcher;
  /** The store's address without its password. */
  readonly storeUrl: string;
  /** False if it was asked to stop during the start. */
  readonly isReady: boolean;
  /** Resolves when it has stopped and everything is closed. `launcher.failure` tells whether that went well. */
  readonly closed: Promise<void>;
}

/**
 * Opens tracing and the store, and starts a launcher. If the start fails, everything is closed again.
 *
 * @throws {StartEnded} if a stop was requested while the store was being opened or `prepare` ran
 * @throws {StoreError} if the store cannot be opened, or doesn't accept the worker
 * @throws {CrontabError} if a cron entry is invalid
 */
export async function launch(options: LaunchOptions): Promise<Launched> {
  const { settings, storeUrl, clock = systemClock, inbox = new Inbox() } = options;
  const storeOptions: StoreOptions = {
    deadMaxJobs: settings.deadMaxJobs,
    deadMaxAgeMs: settings.deadMaxAgeMs,
    durability: settings.durability,
    sidekiqWire: settings.sidekiqWire,
    log: (level, message) => logger("store")[level](message),
    ...options.storeOptions,
  };
  await using stack = new AsyncDisposableStack();
  const tracing = stack.use(await openServerTracing(settings));
  const startup = new StartupSteps({ clock, log: logger("start"), inbox });
  const store = stack.use(await startup.step("store", openStore(storeUrl, storeOptions)));
  const launcher = new Launcher({
    ...{ ...options, ...traced(tracing, options), store, storeOptions, inbox },
    sessionKey: () => store.sessions.key(),
  });
  await options.prepare?.({ launcher, store, startup, stack });
  const isReady = await launcher.start();
  const open = stack.move();
  const closed = launcher.finished.catch(async (error) => {
    // Running jobs are released before the store is closed.
    await launcher.stop();
    throw error;
  }).finally(() => open.disposeAsync());
  return { launcher, storeUrl: store.url, isReady, closed };
}

/** Options of {@linkcode startServer}. */
export interface ServerOptions {
  /** The store's address: `sqlite:PATH`, `redis://…`. */
  readonly store: string;
  /** How to open the store; what is absent here comes from the settings. */
  readonly storeOptions?: StoreOptions;
  /** Jobs made by `defineJob`. */
  // deno-lint-ignore no-explicit-any -- definitions with any arguments
  readonly jobs?: readonly JobDefinition<any>[];
  /** A registry with more handlers. It is copied: handlers added to it later are not run. */
  readonly registry?: Registry;
  /** Middleware around every push of the server's client. */
  readonly pushMiddleware?: readonly PushMiddleware[];
  /** Middleware around every job it performs. */
  readonly performMiddleware?: readonly PerformMiddleware[];
  /** Cron entries checked by `defineCron`, in addition to those of `settings.cron`. */
  readonly cron?: readonly CronEntryInput[];
  /** Selects the active cron entries; default `JOBS_ENV`, else `development`. */
  readonly environment?: string;
  /** Functions that it calls when something happens. */
  readonly hooks?: Hooks;
  /**
   * Where to log. Default: if the program has configured LogTape, its category `jobs`; otherwise stderr, by the settings
   * `log.level`, `log.format` and `log.file`. `false`: the server sets up no log.
   */
  readonly log?: LogOptions | false;
  /** Whether to handle signals as the executable does: TERM and INT stop, TSTP quiets, and so on. Default false. */
  readonly signals?: boolean;
}

/**
 * The same, with settings that are loaded and checked. Default: those of the table.
 *
 * @internal
 */
export interface LoadedServerOptions extends ServerOptions {
  readonly settings?: Partial<Settings>;
}

/**
 * A running server.
 *
 * @example
 * ```ts
 * import { type Server, startServer } from "@jobs/jobs";
 *
 * const server: Server = await startServer({ store: "sqlite::memory:", log: false });
 * await server.quiet(); // takes nothing new
 * server.resume();
 * await server.stop();
 * ```
 */
export interface Server extends AsyncDisposable {
  /** Its worker ID, `hostname:pid:nonce`. */
  readonly workerId: string;
  /** Pushes jobs. */
  readonly client: Client;
  /** The store that it works on, with every part. It is closed when the server has stopped. */
  readonly store: Awaited<ReturnType<typeof openStore>>;
  /** The address of its dashboard; undefined if it has none. */
  readonly url: string | undefined;
  /**
   * Resolves when it has stopped. Rejects with a {@linkcode StoreError} if it stopped because its store is gone, or if it
   * could not store every outcome before it stopped: those jobs run again. The log has the same error.
   */
  readonly finished: Promise<void>;
  /** Stops taking jobs. Running jobs continue. */
  quiet(): Promise<void>;
  /** Takes jobs again. */
  resume(): void;
  /** Stops: waits for running jobs for `settings.shutdownTimeout`, then releases unfinished ones. Another call waits for the same stop. */
  stop(): Promise<void>;
  /** Describes what every async task is doing, as lines of text. */
  dump(): string[];
}

/** Opens the dashboard of a server, in its `prepare`. Returns the dashboard's address. */
export type OpenDashboard = (launching: Launching, settings: Settings) => Promise<string | undefined>;

/**
 * Starts a server in this program; resolves when it takes jobs.
 *
 * @param openDashboard opens the dashboard of the server
 *
 * @throws {StoreError} if the store cannot be opened
 * @throws {HandlerError} if two jobs have the same class
 * @throws {CrontabError} if a cron entry is invalid
 * @throws {LogError} if the log cannot be opened, or the program has configured LogTape and passes `log` as well
 */
export async function startServer(options: LoadedServerOptions, openDashboard?: OpenDashboard): Promise<Server> {
  const registry = new Registry(options.registry).define(...options.jobs ?? []);
  const settings = { ...defaultSettings(), ...options.settings };
  using logStack = new DisposableStack();
  const ownLog = setUpLog(options.log, settings);
  if (ownLog !== undefined) logStack.use(ownLog);
  const log = logger("start");
  let store: Launching["store"] | undefined;
  let url: string | undefined;
  const { launcher, storeUrl, isReady, closed } = await launch({
    ...options,
    storeUrl: options.store,
    registry,
    settings,
    environment: options.environment ?? (Deno.env.get("JOBS_ENV") || "development"),
    prepare: async (launching) => {
      store = launching.store;
      if (options.signals) launching.stack.use(listenToSignals(launching.launcher.inbox));
      for (const warning of [...misspelledOptions(registry.list()), ...unstoredSchemas(registry.list())]) {
        log.warn(warning);
      }
      url = await openDashboard?.(launching, settings);
    },
  });
  const { workerId, classes } = launcher;
  if (isReady) {
    const { concurrency } = settings;
    const shown = {
      worker: workerId,
      store: storeUrl,
      concurrency,
      handlers: classes.join(" "),
      ...(url && { web: url }),
    };
    log.info("Ready", shown);
  }
  const openLogs = logStack.move();
  const finished = closed.finally(() => openLogs.dispose()).then(() => {
    if (launcher.failure) throw launcher.failure;
  });
  // A program that doesn't await `finished` must not end by it. The log has the reason.
  finished.catch(() => {});
  const stop = () => {
    launcher.inbox.put({ verb: "stop", by: "program" });
    return finished;
  };
  return {
    workerId,
    client: launcher.client,
    store: store!,
    url,
    finished,
    quiet: () => launcher.quiet(),
    resume: () => void launcher.resume(),
    stop,
    dump: () => launcher.dump(),
    [Symbol.asyncDispose]: stop,
  };
}

/** Opens the log; undefined if the program has one, or doesn't want one. */
function setUpLog(requested: LogOptions | false | undefined, settings: Settings): Disposable | undefined {
  if (requested === false) return undefined;
  if (isLoggingConfigured()) {
    if (requested === undefined) return undefined;
    throw new LogError(
      `The option "log" is ${
        JSON.stringify(requested)
      }, but this program has configured LogTape itself: remove one of the two`,
    );
  }
  const { logLevel, logFormat, logFile } = settings;
  return openLog({ level: logLevel, format: logFormat, file: logFile, ...requested });
}

/** Sets up tracing, if it is on. Dispose of it when the worker has stopped. */
function openServerTracing({ traceStyle }: Settings): Promise<Tracing | undefined> {
  const log = logger("tracing");
  return openTracing({ style: traceStyle, warn: (message) => log.warn(message) });
}

/**
 * Returns middleware with that of tracing as the outermost.
 *
 * @param own the other middleware
 */
function traced(
  tracing: Tracing | undefined,
  own: Pick<LauncherOptions, "pushMiddleware" | "performMiddleware"> = {},
): Pick<LauncherOptions, "pushMiddleware" | "batchMiddleware" | "performMiddleware" | "aroundStep"> {
  if (tracing === undefined) return own;
  const { client: { middleware, batchMiddleware }, perform } = tracing;
  return {
    aroundStep: (step, run) => tracing.step(step, run),
    batchMiddleware,
    pushMiddleware: [...middleware, ...own.pushMiddleware ?? []],
    performMiddleware: [perform, ...own.performMiddleware ?? []],
  };
}
