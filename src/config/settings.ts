/**
 * Every setting of the executable: its key in the configuration file, its environment variable, what it may be, its
 * default and what it means. One table; the loader, the documentation and `jobs doctor` all read it.
 *
 * Durations are milliseconds here and seconds or `30s`, `5m` outside.
 *
 * @module
 */
import {
  bytes,
  duration,
  list,
  oneOf,
  optionalText,
  processCount,
  programs,
  queues,
  type QueueWeight,
  text,
  texts,
  wholeNumber,
  yesOrNo,
} from "./kinds.ts";
import { LOG_SETTINGS } from "./log_settings.ts";
import { RETENTION_SETTINGS } from "./retention_settings.ts";
import { setting } from "./setting.ts";
import { WEB_SETTINGS } from "./web_settings.ts";
import type { Program } from "../job/program.ts";

export type { QueueWeight } from "./kinds.ts";
export type { Setting } from "./setting.ts";

/** The table. */
export const SETTINGS = {
  store: setting<string | undefined>({
    key: "store",
    env: "JOBS_STORE",
    flag: "--store",
    kind: text,
    default: undefined,
    about: "where jobs are kept: sqlite:PATH or redis://HOST",
  }),
  durability: setting<"full" | "normal">({
    key: "durability",
    env: "JOBS_DURABILITY",
    kind: oneOf("full", "normal"),
    default: "full",
    about: "SQLite: full survives a power cut; normal is faster and may lose the last moments' pushes to one",
  }),
  sidekiqWire: setting<7 | 8>({
    key: "sidekiqWire",
    env: "JOBS_SIDEKIQ_WIRE",
    kind: oneOf(7, 8),
    default: 7,
    about: "times in payloads: 7 seconds with a fraction (all versions of Sidekiq read them), 8 integer milliseconds",
  }),
  concurrency: setting<number>({
    key: "concurrency",
    env: "JOBS_CONCURRENCY",
    flag: "--concurrency",
    kind: wholeNumber(1, 1000),
    default: 10,
    about: "how many jobs are performed at once",
    live: true,
  }),
  queues: setting<readonly QueueWeight[]>({
    key: "queues",
    env: "JOBS_QUEUES",
    flag: "--queue",
    kind: queues,
    default: [],
    about: "queues to take from; strict order without weights. Default: default, then those that handlers name",
    live: true,
  }),
  handlers: setting<readonly string[]>({
    key: "handlers",
    env: "JOBS_HANDLERS",
    kind: texts,
    default: [],
    about: "modules and folders with the handlers",
  }),
  programs: setting<readonly Program[]>({
    key: "exec",
    env: "JOBS_EXEC",
    kind: programs,
    default: [],
    about: 'classes that programs perform: [{ "class": "Thumbnail", "exec": ["./thumb.sh"] }]',
  }),
  isolate: setting<readonly string[]>({
    key: "isolate",
    env: "JOBS_ISOLATE",
    flag: "--isolate",
    kind: texts,
    default: [],
    about: "classes that run in processes of their own, beside those that say so themselves; * for all",
  }),
  maxMemoryBytes: setting<number>({
    key: "maxMemory",
    env: "JOBS_MAX_MEMORY",
    flag: "--max-memory",
    kind: bytes,
    default: 0,
    about:
      "an isolated job that uses more memory is killed and fails, one of several processes that does is replaced " +
      "when its jobs have ended: 512M; 0 for no limit",
  }),
  horseJobs: setting<number>({
    key: "horseJobs",
    env: "JOBS_HORSE_JOBS",
    kind: wholeNumber(0, 1_000_000_000),
    default: 0,
    about: "a process for isolated jobs is replaced after so many; 0 for never",
  }),
  graceMs: setting<number>({
    key: "grace",
    env: "JOBS_GRACE",
    kind: duration(0),
    default: 3_000,
    about: "how long an isolated job or a program has to end when its time is over, before it is killed",
  }),
  maxResultBytes: setting<number>({
    key: "maxResultBytes",
    env: "JOBS_MAX_RESULT_BYTES",
    kind: wholeNumber(0, 512 * 1024 * 1024),
    default: 64 * 1024,
    about: "a larger result is not kept; a program that prints more is killed",
  }),
  cron: setting<readonly unknown[]>({
    key: "cron",
    env: "JOBS_CRON",
    kind: list,
    default: [],
    about: 'what to enqueue when: [{ "name": "nightly", "rule": "30 3 * * *", "class": "Report" }]',
    live: true,
  }),
  processes: setting<number>({
    key: "processes",
    env: "JOBS_PROCESSES",
    flag: "--processes",
    kind: processCount,
    default: 1,
    about: "how many processes perform jobs; auto: one per core. A parent keeps them running",
  }),
  burst: setting<boolean>({
    key: "burst",
    env: "JOBS_BURST",
    flag: "--burst",
    kind: yesOrNo,
    default: false,
    about: "end when the queues are empty; what is scheduled is left alone",
  }),
  maxJobs: setting<number | undefined>({
    key: "maxJobs",
    env: "JOBS_MAX_JOBS",
    flag: "--max-jobs",
    kind: wholeNumber(1, 1_000_000_000),
    default: undefined,
    about: "end after so many jobs",
  }),
  maxIdleMs: setting<number | undefined>({
    key: "maxIdle",
    env: "JOBS_MAX_IDLE",
    flag: "--max-idle",
    kind: duration(0),
    default: undefined,
    about: "end when there was nothing to do for so long",
  }),
  name: setting<string | undefined>({
    key: "name",
    env: "JOBS_NAME",
    flag: "--name",
    kind: text,
    default: undefined,
    about: "a name that only one live process may have; shown as its tag",
  }),
  pidfile: setting<string | undefined>({
    key: "pidfile",
    env: "JOBS_PIDFILE",
    flag: "--pidfile",
    kind: text,
    default: undefined,
    about: "a file that says which process this is; removed at the end",
  }),
  timeoutMs: setting<number>({
    key: "timeout",
    env: "JOBS_TIMEOUT",
    flag: "--timeout",
    kind: duration(0),
    default: 25_000,
    about: "how long a stop waits for running jobs",
    live: true,
  }),
  tag: setting<string | undefined>({
    key: "tag",
    env: "JOBS_TAG",
    flag: "--tag",
    kind: optionalText,
    default: undefined,
    about: "a word shown beside the process",
  }),
  labels: setting<readonly string[]>({
    key: "labels",
    env: "JOBS_LABELS",
    kind: texts,
    default: [],
    about: "more words shown beside the process",
  }),
  heartbeatMs: setting<number>({
    key: "heartbeat",
    env: "JOBS_HEARTBEAT",
    kind: duration(50),
    default: 5_000,
    about: "how often a process says that it is alive, and looks for dead ones",
  }),
  deadAfterMs: setting<number>({
    key: "deadAfter",
    env: "JOBS_DEAD_AFTER",
    kind: duration(150),
    default: 20_000,
    about:
      "a process without a heartbeat for this long is offline, and its jobs run again; at least 3 heartbeats, and the same for all processes of a store",
  }),
  maxRescues: setting<number>({
    key: "maxRescues",
    env: "JOBS_MAX_RESCUES",
    kind: wholeNumber(1, 1000),
    default: 3,
    about: "a job goes to dead when it has killed its process this many times",
  }),
  maxRetries: setting<number>({
    key: "maxRetries",
    env: "JOBS_MAX_RETRIES",
    kind: wholeNumber(0, 1000),
    default: 25,
    about: "how often a failed job is tried again, where it does not say itself",
  }),
  maxPayloadBytes: setting<number>({
    key: "maxPayloadBytes",
    env: "JOBS_MAX_PAYLOAD_BYTES",
    kind: wholeNumber(1_000, 512 * 1024 * 1024),
    default: 1024 * 1024,
    about: "a larger payload is refused",
  }),
  ...RETENTION_SETTINGS,
  traceStyle: setting<"link" | "child">({
    key: "traceStyle",
    env: "JOBS_TRACE_STYLE",
    kind: oneOf("link", "child"),
    default: "link",
    about: "with OpenTelemetry, the span of a perform is linked to that of its push, or its child in the same trace",
  }),
  ...LOG_SETTINGS,
  ...WEB_SETTINGS,
} as const;

/** Name of a setting in the program. */
export type SettingName = keyof typeof SETTINGS;

/** All settings, each with its value. */
export type Settings = { readonly [Name in SettingName]: (typeof SETTINGS)[Name]["default"] };

/** The defaults of the table. */
export function defaultSettings(): Settings {
  return Object.fromEntries(Object.entries(SETTINGS).map(([name, row]) => [name, row.default])) as unknown as Settings;
}
