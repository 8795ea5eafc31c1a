/**
 * The settings of a worker inside a program: those of docs/reference/configuration.md, by the same names and in the same
 * units, checked in the same way. A setting that has no effect in a program is refused.
 *
 * @module
 */
import type { EndpointEntry, WebhookEntry } from "../job/endpoint.ts";
import type { Program } from "../job/program.ts";
import { applyDocument, checkTogether, ConfigError, parseSetting } from "./load.ts";
import { defaultSettings, type SettingName, SETTINGS, type Settings } from "./settings.ts";

/** A number of seconds, or a text such as `250ms`, `30s`, `5m`, `2h`, `1d`. */
export type Duration = number | string;

/**
 * Settings of {@linkcode startServer}: those of docs/reference/configuration.md that have an effect in a program.
 *
 * @example
 * ```ts
 * import type { ServerSettings } from "@jobs/jobs";
 *
 * const settings: ServerSettings = {
 *   concurrency: 20,
 *   queues: ["critical,3", "default,1"],
 *   shutdownTimeout: "30s",
 *   log: { level: "warn" },
 *   retention: { results: "1h" },
 * };
 * ```
 */
export interface ServerSettings {
  /** How many jobs the worker runs at once. Default 10. */
  readonly concurrency?: number;
  /** Queues to process, in strict order unless they have weights: `["critical,3", "default,1"]`. Default: `default`, then those of its jobs. */
  readonly queues?:
    | string
    | readonly (string | readonly [name: string, weight: number])[]
    | Readonly<Record<string, number>>;
  /** SQLite: `full` keeps acknowledged jobs through a power cut; `normal` is faster and may lose the latest ones. Default `full`. */
  readonly durability?: "full" | "normal";
  /** Times in payloads: 7 for fractional seconds, 8 for integer milliseconds, which only Sidekiq 8 reads. Default 7. */
  readonly sidekiqWire?: 7 | 8;
  /** Classes run by external programs. */
  readonly exec?: readonly Program[];
  /** Classes run by HTTP endpoints. */
  readonly http?: readonly EndpointEntry[];
  /** Requests to other systems when jobs end. They replace those in the store; `[]` removes them. */
  readonly webhooks?: readonly WebhookEntry[];
  /** PostgreSQL database with the table `jobs_outbox`, from which the worker pushes the jobs of committed transactions. */
  readonly outbox?: string;
  /** Address of a dashboard that these endpoints can reach, to report progress and log lines. */
  readonly reportUrl?: string;
  /** How long a program may take to end after its timeout, before it is killed. Default 3s. */
  readonly killAfter?: Duration;
  /** Larger results are not kept. Default 65,536 bytes. */
  readonly maxResultBytes?: number;
  /** Cron entries, as in a configuration file. Those of `defineCron` are the option `cron`. */
  readonly cron?: readonly unknown[];
  /** Stops when the queues are empty; scheduled jobs stay. Default false. */
  readonly burst?: boolean;
  /** Stops after this many jobs. */
  readonly maxJobs?: number;
  /** Stops after this long without a job. */
  readonly maxIdle?: Duration;
  /** Name of the worker, unique among online workers. */
  readonly name?: string;
  /** How long a stop waits for running jobs. Default 25s. */
  readonly shutdownTimeout?: Duration;
  /** Label of the worker, shown in `jobs workers`. */
  readonly tag?: string;
  /** More labels of the worker. */
  readonly labels?: string | readonly string[];
  /** Interval between heartbeats. Default 5s. */
  readonly heartbeat?: Duration;
  /** A worker without a heartbeat for this long is offline; at least 3 heartbeats. Default 20s. */
  readonly heartbeatTimeout?: Duration;
  /** A job is dead after crashing its worker this many times. Default 3. */
  readonly maxRescues?: number;
  /** How many times to retry a failed job, unless the job or its class sets a number. Default 25. */
  readonly maxRetries?: number;
  /** Larger payloads are refused. Default 1 MiB. */
  readonly maxPayloadBytes?: number;
  /** How long dead and finished jobs are kept. */
  readonly retention?: {
    /** Keeps at most this many dead jobs. Default 10,000. */
    readonly deadJobs?: number;
    /** Keeps a dead job this long. Default 180d. */
    readonly deadAge?: Duration;
    /** Keeps a job's result this long, unless the job or its class sets a time. Default 8m20s. */
    readonly results?: Duration;
    /** Keeps the record of a failed job this long. Default 1d. */
    readonly failures?: Duration;
    /** Keeps a record of every finished job this long. Default 0. */
    readonly succeeded?: Duration;
    /** Records events, and keeps them this long. Default 0: only while something reads them. */
    readonly events?: Duration;
  };
  /** The span of an attempt links to the span of its push, or is its child. Default `link`. */
  readonly traceStyle?: "link" | "child";
  /** The log, unless the program has one. */
  readonly log?: {
    /** Default `info`: one line per job. */
    readonly level?: "debug" | "info" | "warn" | "error";
    /** Default `auto`: `pretty` on a terminal, `json` elsewhere. */
    readonly format?: "auto" | "pretty" | "json";
    /** Appends the log to this file. Default: stderr. */
    readonly file?: string;
  };
  /** The dashboard. Requires the option `web`, its address. */
  readonly web?: {
    /** Users: lines that `jobs web --new-user` prints. Without users, 127.0.0.1 only and no login. */
    readonly users?: string | readonly string[];
    /** Disables all actions. Default false. */
    readonly readOnly?: boolean;
    /** Path under which a reverse proxy serves the dashboard. */
    readonly prefix?: string;
    /** Allowed `Host` header values, in addition to localhost and IP addresses. */
    readonly hosts?: string | readonly string[];
    /** Header in which a trusted proxy names the user. */
    readonly proxyHeader?: string;
    /** Addresses of trusted proxies. */
    readonly proxies?: string | readonly string[];
    /** Requests per second of each API token; 0 for any number. Default 100. */
    readonly tokenRate?: number;
    /** Hides the values of fields with these names, in addition to password, token, secret and similar ones. */
    readonly mask?: string | readonly string[];
    /** Link from a job to its trace, for example `https://jaeger.example.com/trace/{traceId}`. */
    readonly traceUrl?: string;
  };
}

/** Settings of the executable that have no effect in a program, and what to use instead. */
const WITHOUT_EFFECT: Partial<Record<SettingName, string>> = {
  store: 'use the option "store"',
  handlers: 'use the option "jobs"',
  isolate: "a program's own jobs run inside of it; jobs run isolates handlers",
  maxMemoryBytes: "it limits isolated processes, which only jobs run has",
  maxJobsPerIsolatedProcess: "it limits isolated processes, which only jobs run has",
  processes: "start the program more than once, or use jobs run",
  pidFile: "a program writes its pid file itself",
  webListen: 'use the option "web"',
};

/** Options of {@linkcode startServer} on which settings depend. */
export interface SettingsContext {
  /** The server has a dashboard. */
  readonly hasWeb: boolean;
  /** The server sets up no log. */
  readonly isSilent: boolean;
}

/**
 * Returns the settings with defaults for those not given. A value of `undefined` is the default.
 *
 * @throws {ConfigError} if a name is unknown, a value is invalid, or a setting has no effect in a program
 */
export function readServerSettings(given: ServerSettings, { hasWeb, isSilent }: SettingsContext): Settings {
  const settings: Record<string, unknown> = { ...defaultSettings() };
  applyDocument(withoutUndefined(given), "settings", (name, value, fromText, origin) => {
    const { key } = SETTINGS[name];
    const instead = WITHOUT_EFFECT[name] ??
      (!hasWeb && key.startsWith("web.") ? 'set the option "web" as well: the dashboard\'s address' : undefined) ??
      (isSilent && key.startsWith("log.") ? 'the option "log" is false' : undefined);
    if (instead !== undefined) throw new ConfigError(`settings: "${key}" has no effect in a program: ${instead}`);
    settings[name] = parseSetting(name, value, fromText, origin);
  });
  const read = settings as unknown as Settings;
  checkTogether(read);
  return read;
}

function withoutUndefined(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(entries.map(([key, one]) => [key, key === "exec" ? one : withoutUndefined(one)]));
}
