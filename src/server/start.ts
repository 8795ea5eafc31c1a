/**
 * A server for a program of one's own, in one call: store, handlers, launcher, signals.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { Settings } from "../config/settings.ts";
import { checkSettings } from "../config/check.ts";
import type { CronEntryInput } from "../cron/entry.ts";
import type { JobDefinition, PerformMiddleware } from "../handlers/handler.ts";
import { misspelledOptions } from "../handlers/option_typos.ts";
import { Registry } from "../handlers/registry.ts";
import { isLoggingConfigured, LogError, logger, type LogOptions, openLog } from "../log/log.ts";
import type { PushMiddleware } from "../client/middleware.ts";
import { openStore, type StoreOptions } from "../store/open.ts";
import type { Hooks } from "./hooks.ts";
import { Launcher } from "./launcher.ts";
import { listenToSignals } from "./control/signals.ts";
import { openServerTracing, traced } from "./tracing.ts";

/** What {@linkcode startServer} is told. */
export interface ServerOptions {
  /** The store's address: `sqlite:PATH`, `redis://…`. */
  readonly store: string;
  /** How to open the store, beside what the settings say. */
  readonly storeOptions?: StoreOptions;
  /** What `defineJob` made. */
  // deno-lint-ignore no-explicit-any -- definitions with any arguments
  readonly jobs?: readonly JobDefinition<any>[];
  /** Or a registry filled otherwise; its handlers are taken as they are now, and it stays as it is. */
  readonly registry?: Registry;
  /** Settings other than the defaults: `{ concurrency: 5 }`. Durations in milliseconds. */
  readonly settings?: Partial<Settings>;
  /** Around every push of its client. */
  readonly pushMiddleware?: readonly PushMiddleware[];
  /** Around every job it performs. */
  readonly performMiddleware?: readonly PerformMiddleware[];
  /** Crontab entries, as `defineCron` checks them; beside those of `settings.cron`. */
  readonly cron?: readonly CronEntryInput[];
  /** Decides which crontab entries are active; default `JOBS_ENV`, else `development`. */
  readonly environment?: string;
  /** What it calls in the course of its life. */
  readonly hooks?: Hooks;
  /**
   * Where it logs; default stderr, as the settings `logLevel`, `logFormat` and `logFile` say, unless the program has
   * configured LogTape: then the lines go there, in the category `jobs`. `false`: this server sets up no log.
   */
  readonly log?: LogOptions | false;
  /** Stop on TERM and INT, be quiet on TSTP, and so on, as the executable does. Default false: signals are yours. */
  readonly signals?: boolean;
}

/** A running server. */
export interface Server extends AsyncDisposable {
  /** `hostname:pid:nonce`. */
  readonly identity: string;
  /** Pushes jobs. */
  readonly client: Client;
  /**
   * Resolves when it has stopped. Rejects with a {@linkcode StoreError} when it stopped by itself because its store is
   * gone, or when it could not store every outcome before it stopped: those jobs run again. The log has the same error.
   */
  readonly finished: Promise<void>;
  /** Takes nothing more. */
  quiet(): Promise<void>;
  /** Takes jobs again. */
  resume(): void;
  /** Stops: waits for running jobs until `settings.timeoutMs`, then gives unfinished ones back. */
  stop(): Promise<void>;
  /** What every async task is doing, as lines of text. */
  dump(): string[];
}

/**
 * Opens the store and starts a server in this program.
 *
 * @throws {ConfigError} when there is no such setting, or it is not what it should be
 * @throws {StoreError} when the store cannot be opened
 * @throws {HandlerError} when two jobs have the same class
 * @throws {CrontabError} when a crontab entry is wrong
 * @throws {LogError} when the log cannot be opened, or is asked for where the program has a log of its own
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const registry = new Registry(options.registry).define(...options.jobs ?? []);
  const settings = checkSettings(options.settings ?? {});
  const storeOptions: StoreOptions = {
    deadMaxJobs: settings.deadMaxJobs,
    deadMaxAgeMs: settings.deadMaxAgeMs,
    durability: settings.durability,
    sidekiqWire: settings.sidekiqWire,
    log: (level, message) => logger("store")[level](message),
    ...options.storeOptions,
  };
  const environment = options.environment ?? (Deno.env.get("JOBS_ENV") || "development");
  await using stack = new AsyncDisposableStack();
  const log = setUpLog(options.log, settings);
  if (log !== undefined) stack.use(log);
  const tracing = stack.use(await openServerTracing(settings));
  const store = stack.use(await openStore(options.store, storeOptions));
  const more = { store, storeUrl: options.store, storeOptions, registry, settings, environment };
  const launcher = new Launcher({ ...options, ...traced(tracing, options), ...more });
  if (options.signals) stack.use(listenToSignals(launcher.inbox));
  const say = logger("start");
  for (const warning of misspelledOptions(registry.list())) say.warn(warning);
  const { identity, classes } = launcher;
  if (await launcher.start()) {
    say.info("Ready", { identity, store: store.url, concurrency: settings.concurrency, handlers: classes.join(" ") });
  }
  const open = stack.move();
  const finished = launcher.finished.then(() => open.disposeAsync()).then(() => {
    if (launcher.failure) throw launcher.failure;
  });
  // A program that does not wait for the end must not die of it: why it came is in the log.
  finished.catch(() => {});
  const stop = () => {
    launcher.inbox.put({ verb: "stop", by: "program" });
    return finished;
  };
  return {
    identity,
    client: launcher.client,
    finished,
    quiet: () => launcher.quiet(),
    resume: () => void launcher.resume(),
    stop,
    dump: () => launcher.dump(),
    [Symbol.asyncDispose]: stop,
  };
}

/** The log that it is to open; undefined where the program has one, or wants none. */
function setUpLog(asked: LogOptions | false | undefined, settings: Settings): Disposable | undefined {
  if (asked === false) return undefined;
  if (isLoggingConfigured()) {
    if (asked === undefined) return undefined;
    throw new LogError(
      `The option "log" is ${
        JSON.stringify(asked)
      }, but this program has configured LogTape itself; wanted: only one of both`,
    );
  }
  const { logLevel, logFormat, logFile } = settings;
  return openLog({ level: logLevel, format: logFormat, file: logFile, ...asked });
}
