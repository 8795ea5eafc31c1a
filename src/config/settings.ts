/**
 * Every setting of the executable, with its configuration key, kind, default and meaning. The loader, the documentation,
 * `jobs help settings` and `jobs doctor` read this table.
 *
 * Durations are milliseconds here, and seconds or texts such as `30s` and `5m` in files, variables and options.
 *
 * @module
 */
import {
  bytes,
  duration,
  list,
  oneOf,
  optionalText,
  outboxAddress,
  processCount,
  programs,
  queues,
  type QueueWeight,
  text,
  texts,
  wholeNumber,
  yesOrNo,
} from "./kinds.ts";
import { endpoints, webAddress } from "./endpoints.ts";
import { setting } from "./setting.ts";
import { webhooks } from "./webhooks.ts";
import { WEB_SETTINGS } from "./web_settings.ts";
import type { Endpoint, Webhook } from "../job/endpoint.ts";
import type { Program } from "../job/program.ts";
import { LOG_LEVELS } from "../log/format.ts";

export type { QueueWeight } from "./kinds.ts";
export type { Setting } from "./setting.ts";

export const SETTINGS = {
  store: setting<string | undefined>({
    key: "store",
    flag: "--store",
    kind: text,
    default: undefined,
    about: "address of the store: sqlite:PATH, redis://HOST or postgres://HOST/DATABASE",
    secret: true,
  }),
  durability: setting<"full" | "normal">({
    key: "durability",
    kind: oneOf("full", "normal"),
    default: "full",
    about: "SQLite: full keeps acknowledged jobs through a power cut; normal is faster and may lose the latest ones",
  }),
  outbox: setting<string | undefined>({
    key: "outbox",
    kind: outboxAddress,
    default: undefined,
    about:
      "PostgreSQL database with the table jobs_outbox, from which workers push the jobs of committed transactions: postgres://HOST/DATABASE",
    secret: true,
  }),
  sidekiqWire: setting<7 | 8>({
    key: "sidekiqWire",
    kind: oneOf(7, 8),
    default: 7,
    about:
      "times in payloads: 7 for fractional seconds (every version of Sidekiq reads them), 8 for integer milliseconds",
  }),
  concurrency: setting<number>({
    key: "concurrency",
    flag: "--concurrency",
    kind: wholeNumber(1, 1000),
    default: 10,
    about: "how many jobs one worker runs at once",
    live: true,
  }),
  queues: setting<readonly QueueWeight[]>({
    key: "queues",
    flag: "--queue",
    kind: queues,
    default: [],
    about: "queues to process, in strict order unless they have weights; default: default, then the handlers' queues",
    live: true,
  }),
  handlers: setting<readonly string[]>({
    key: "handlers",
    kind: texts,
    default: [],
    about: "handler modules, and folders of modules",
  }),
  programs: setting<readonly Program[]>({
    key: "exec",
    kind: programs,
    default: [],
    about: 'classes run by external programs: [{ "class": "Thumbnail", "exec": ["./thumb.sh"] }]',
    secret: true,
  }),
  http: setting<readonly Endpoint[]>({
    key: "http",
    kind: endpoints,
    default: [],
    about: 'classes run by HTTP endpoints: [{ "class": "Mail", "url": "https://app.example.com/jobs/mail" }]',
    secret: true,
  }),
  webhooks: setting<readonly Webhook[] | undefined>({
    key: "webhooks",
    kind: webhooks,
    default: undefined,
    about:
      'requests to other systems when jobs end: [{ "url": "https://app.example.com/events", "on": ["dead"] }]; kept in the store, where [] removes them',
    secret: true,
  }),
  reportUrl: setting<string | undefined>({
    key: "reportUrl",
    kind: webAddress,
    default: undefined,
    about:
      "address of a dashboard that the endpoints of http can reach, to report progress and log lines; for example https://jobs.example.com",
  }),
  isolate: setting<readonly string[]>({
    key: "isolate",
    flag: "--isolate",
    kind: texts,
    default: [],
    about: "run these classes in isolated processes, in addition to handlers with isolate: true; * for all",
  }),
  maxMemoryBytes: setting<number>({
    key: "maxMemory",
    flag: "--max-memory",
    kind: bytes,
    default: 0,
    about:
      "kill an isolated job that uses more memory; with --processes, replace a worker that does once its jobs have " +
      "ended; for example 512M; 0 for no limit",
  }),
  maxJobsPerIsolatedProcess: setting<number>({
    key: "maxJobsPerIsolatedProcess",
    kind: wholeNumber(0, 1_000_000_000),
    default: 0,
    about: "replace an isolated process after this many jobs; 0 for never",
  }),
  killAfterMs: setting<number>({
    key: "killAfter",
    kind: duration(0),
    default: 3_000,
    about: "how long an isolated job or a program may take to end after its timeout, before it is killed",
  }),
  maxResultBytes: setting<number>({
    key: "maxResultBytes",
    kind: wholeNumber(0, 512 * 1024 * 1024),
    default: 64 * 1024,
    about: "don't keep larger results; of a program's output, keep the beginning and the end",
  }),
  cron: setting<readonly unknown[]>({
    key: "cron",
    kind: list,
    default: [],
    about: 'cron entries: [{ "name": "nightly", "rule": "30 3 * * *", "class": "Report" }]',
    secret: true,
    live: true,
  }),
  processes: setting<number>({
    key: "processes",
    flag: "--processes",
    kind: processCount,
    default: 1,
    about: "number of workers, kept running by a parent process; auto: one per core",
  }),
  burst: setting<boolean>({
    key: "burst",
    flag: "--burst",
    kind: yesOrNo,
    default: false,
    about: "exit when the queues are empty; scheduled jobs stay",
  }),
  maxJobs: setting<number | undefined>({
    key: "maxJobs",
    flag: "--max-jobs",
    kind: wholeNumber(1, 1_000_000_000),
    default: undefined,
    about: "exit after this many jobs",
  }),
  maxIdleMs: setting<number | undefined>({
    key: "maxIdle",
    flag: "--max-idle",
    kind: duration(0),
    default: undefined,
    about: "exit after this long without a job",
  }),
  name: setting<string | undefined>({
    key: "name",
    flag: "--name",
    kind: text,
    default: undefined,
    about: "name of the worker, unique among online workers; shown as its tag",
  }),
  pidFile: setting<string | undefined>({
    key: "pidFile",
    flag: "--pid-file",
    kind: text,
    default: undefined,
    about: "write the process ID to this file; removed on exit",
  }),
  shutdownTimeoutMs: setting<number>({
    key: "shutdownTimeout",
    flag: "--shutdown-timeout",
    kind: duration(0),
    default: 25_000,
    about: "how long shutdown waits for running jobs",
    live: true,
  }),
  tag: setting<string | undefined>({
    key: "tag",
    flag: "--tag",
    kind: optionalText,
    default: undefined,
    about: "label of the worker, shown in jobs workers",
  }),
  labels: setting<readonly string[]>({
    key: "labels",
    kind: texts,
    default: [],
    about: "more labels of the worker",
  }),
  heartbeatMs: setting<number>({
    key: "heartbeat",
    kind: duration(50),
    default: 5_000,
    about: "interval between heartbeats of a worker, and between its checks for offline workers",
  }),
  heartbeatTimeoutMs: setting<number>({
    key: "heartbeatTimeout",
    kind: duration(150),
    default: 20_000,
    about:
      "a worker without a heartbeat for this long is offline, and its jobs run again; at least 3 heartbeats, and the " +
      "same for all workers of a store",
  }),
  maxRescues: setting<number>({
    key: "maxRescues",
    kind: wholeNumber(1, 1000),
    default: 3,
    about: "a job becomes dead after crashing its worker this many times",
  }),
  maxRetries: setting<number>({
    key: "maxRetries",
    kind: wholeNumber(0, 1000),
    default: 25,
    about: "how many times to retry a failed job, unless the job or its class sets a number",
  }),
  maxPayloadBytes: setting<number>({
    key: "maxPayloadBytes",
    kind: wholeNumber(1_000, 512 * 1024 * 1024),
    default: 1024 * 1024,
    about: "reject larger payloads",
  }),
  deadMaxJobs: setting<number>({
    key: "retention.deadJobs",
    kind: wholeNumber(0, 1_000_000_000),
    default: 10_000,
    about: "keep at most this many dead jobs, the latest",
  }),
  deadMaxAgeMs: setting<number>({
    key: "retention.deadAge",
    kind: duration(0),
    default: 180 * 24 * 3600 * 1000,
    about: "keep a dead job this long",
  }),
  resultTtlMs: setting<number>({
    key: "retention.results",
    kind: duration(0),
    default: 500_000,
    about: "keep a job's result this long, unless the job or its class sets a time",
  }),
  failureTtlMs: setting<number>({
    key: "retention.failures",
    kind: duration(0),
    default: 24 * 3600 * 1000,
    about: "keep the record of a failed job this long, unless the job or its class sets a time",
  }),
  succeededTtlMs: setting<number>({
    key: "retention.succeeded",
    kind: duration(0),
    default: 0,
    about: "keep a record of every finished job this long, for jobs list finished; at most 100,000 records",
  }),
  eventTtlMs: setting<number>({
    key: "retention.events",
    kind: duration(0),
    default: 0,
    about: "record events, and keep them this long; at most about 100,000. 0: only while something reads them",
  }),
  traceStyle: setting<"link" | "child">({
    key: "traceStyle",
    kind: oneOf("link", "child"),
    default: "link",
    about: "OpenTelemetry: the span of an attempt links to the span of its push (link), or is its child (child)",
  }),
  logLevel: setting<"debug" | "info" | "warn" | "error">({
    key: "log.level",
    flag: "--log-level",
    kind: oneOf(...LOG_LEVELS),
    default: "info",
    about: "debug, info (one line per job), warn or error",
    live: true,
  }),
  logFormat: setting<"auto" | "pretty" | "json">({
    key: "log.format",
    flag: "--log-format",
    kind: oneOf("auto", "pretty", "json"),
    default: "auto",
    about: "auto: pretty on a terminal, JSON elsewhere",
  }),
  logFile: setting<string | undefined>({
    key: "log.file",
    flag: "--log-file",
    kind: text,
    default: undefined,
    about: "append the log to this file; default, and `-`: stderr",
  }),
  ...WEB_SETTINGS,
} as const;

export type SettingName = keyof typeof SETTINGS;

export type Settings = { readonly [Name in SettingName]: (typeof SETTINGS)[Name]["default"] };

export function defaultSettings(): Settings {
  return Object.fromEntries(Object.entries(SETTINGS).map(([name, row]) => [name, row.default])) as unknown as Settings;
}
