/**
 * A program that performs jobs, as it describes itself, and what passes between it and its worker here.
 *
 * @module
 */
import type { JobReport } from "../store/port/workers.ts";
import type { HandlerOptions } from "../handlers/handler.ts";
import { defaultSettings, type Settings } from "../config/settings.ts";
import { RemoteError } from "../handlers/isolation/remote_error.ts";
import { Released } from "../steps/errors.ts";
import type { AbortName } from "./remote_job.ts";

/** The description of a program, by itself. */
export interface Program {
  readonly id: string;
  /** The user whose token or password it has; undefined without users. No other user may speak for it. */
  readonly owner?: string;
  readonly hostname: string;
  readonly pid: number;
  /** `python 3.11, jobs-client 0.1`. */
  readonly version: string;
  readonly concurrency: number;
  readonly queues: readonly string[];
  readonly classes: Readonly<Record<string, HandlerOptions>>;
  readonly labels: readonly string[];
  /** The queues that its token is limited to, unless it is limited to classes, too. */
  readonly within?: readonly string[];
}

/** A job that the program runs, as another process gave it. */
export interface GivenJob {
  readonly token: string;
  readonly payload: string;
  readonly queue: string;
  /** When it was given, in epoch milliseconds. */
  readonly since: number;
}

/** A job that the program shows, with the proof that it was given. */
export type ShownJob = Omit<GivenJob, "since"> & { readonly receipt: string };

/** The state that a program shows when it registers. */
export interface Shown {
  /** Numbers its registrations; undefined if it doesn't. */
  readonly registration?: number | undefined;
  /** The jobs that it runs already; undefined if it was at no gateway before. */
  readonly given?: readonly GivenJob[] | undefined;
  /** Its last request for jobs whose answer it has; undefined if it doesn't tell. */
  readonly taken?: number | undefined;
}

/** The report of a program about a job. */
export interface Report extends JobReport {
  readonly token: string;
}

/** The end of a job, as the program sends it, with what it has reported last. */
export interface End extends Report {
  readonly end: "succeeded" | "failed" | "discard" | "kill" | "snooze" | "release";
  readonly result?: unknown;
  readonly error?: {
    readonly class: string;
    readonly message: string;
    readonly stack?: readonly string[];
    readonly causes?: readonly string[];
  };
  /** Of a snooze, in milliseconds. */
  readonly delayMs?: number;
}

/** The errors of steps by which a program ends its job for good keep their class. */
const STEP_ERRORS: ReadonlySet<string> = new Set(["StepFailed", "ChildFailed"]);

/**
 * Returns what a handler here would throw for an end other than `succeeded`. The end alone decides, whatever the class of the error.
 * Its stack is the program's; this process has no part in it.
 */
export function errorOf({ end, error, delayMs = 0 }: Omit<End, "token">): Error {
  const thrown = { class: "Error", message: "", stack: [], causes: [], ...error };
  switch (end) {
    case "discard":
      return new RemoteError({ ...thrown, class: "Discard", mark: "discard" });
    case "kill":
      return new RemoteError({ ...thrown, class: STEP_ERRORS.has(thrown.class) ? thrown.class : "Kill", mark: "kill" });
    case "snooze":
      return new RemoteError({ ...thrown, class: "Snooze", mark: "snooze", delayMs });
    case "release":
      return new Released();
    default:
      return new RemoteError(thrown);
  }
}

/** The answer to a heartbeat. */
export interface Orders {
  /** Its jobs that must end, and why. */
  readonly aborted: readonly { readonly token: string; readonly reason: AbortName }[];
  /** Jobs that it has lost. */
  readonly lost: readonly string[];
  readonly quiet: boolean;
  readonly stopping: boolean;
}

/** The settings of this process that hold for every worker. */
const SHARED = [
  "heartbeatMs",
  "heartbeatTimeoutMs",
  "maxRetries",
  "sidekiqWire",
  "resultTtlMs",
  "succeededTtlMs",
  "failureTtlMs",
  "maxResultBytes",
  "maxPayloadBytes",
  "killAfterMs",
  "maxRescues",
  "shutdownTimeoutMs",
  "outbox",
] as const satisfies readonly (keyof Settings)[];

/** Returns the settings of a program's worker, in a process with these settings. */
export function settingsOf({ concurrency, labels, queues }: Program, settings: Settings): Settings {
  return {
    ...defaultSettings(),
    ...Object.fromEntries(SHARED.map((name) => [name, settings[name]])),
    ...{ concurrency, labels, queues: queues.map((name) => ({ name, weight: 0 })) },
  } as Settings;
}
