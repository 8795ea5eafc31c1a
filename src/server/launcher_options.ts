/**
 * Options of the launcher, and what its components need of it.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Settings } from "../config/settings.ts";
import type { CronEntryInput } from "../cron/entry.ts";
import type { HorseProcesses } from "../handlers/isolation/horse_process.ts";
import type { PerformMiddleware } from "../handlers/handler.ts";
import type { Registry } from "../handlers/registry.ts";
import type { BatchMiddleware, PushMiddleware } from "../client/middleware.ts";
import type { StoreError } from "../store/port/errors.ts";
import type { StoreOptions } from "../store/open.ts";
import type { Hooks } from "../handlers/hooks.ts";
import type { Announcer } from "./work/announcer.ts";
import type { Inbox } from "./control/signals.ts";
import type { Thread } from "./liveness/heartbeat.ts";
import type { GuardOptions } from "./liveness/heartbeat_messages.ts";
import type { WorkerRecord } from "../store/port/workers.ts";
import type { AroundStep } from "../steps/services.ts";
import type { Lease } from "../store/port/jobs.ts";
import type { ServerStore } from "../store/port/store.ts";

/**
 * A worker whose handlers run in another program, which drives it over HTTP. This process performs the worker's part for it: it
 * takes, retries and settles, and its heartbeats follow those of the program.
 */
export interface Guest {
  readonly id: string;
  readonly hostname: string;
  readonly pid: number;
  /** Its runtime and client, instead of the version of this program: `python 3.11, jobs-client 0.1`. */
  readonly version: string;
  /** See `WorkerRecord.owner`. */
  readonly owner?: string;
  /** Its token is limited to these queues: it doesn't change the options of classes of other ones. */
  readonly within?: readonly string[];
  /** Returns its resident memory in bytes. */
  readonly rss: () => number;
  /** Returns how many jobs it waits for. */
  readonly demand: () => number;
  /** Resolves when the program asks for jobs, which shows that it isn't frozen. */
  readonly awake: () => Promise<void>;
  /** Whether the program runs the job with this token already. */
  readonly runs: (token: string) => boolean;
  /** Called when nodes of flows have ended: the worker that does the chores of this process tends their batches. */
  readonly onNodes: () => void;
  /** Makes the jobs of webhooks, for all workers of this process. */
  readonly announcer: Announcer;
  /** Returns the jobs that the program runs already: another process performed the worker's part before. */
  readonly adopt: () => Promise<readonly Lease[]>;
}

export interface LauncherOptions {
  /** The caller closes it after `Launcher.finished`. */
  readonly store: ServerStore;
  /** The address and options that the store was opened with: the heartbeat's thread opens it again. */
  readonly storeUrl: string;
  readonly storeOptions?: StoreOptions;
  /** Returns the key that the dashboards of the store share, to sign the tokens of HTTP endpoints. */
  readonly sessionKey?: () => Promise<string>;
  readonly registry: Registry;
  readonly settings: Settings;
  /** The last part of the worker ID, if the supervisor has chosen it; default: random. */
  readonly nonce?: string | undefined;
  /** Present if the handlers run in another program. */
  readonly guest?: Guest;
  /** The ID of the worker that this one replaces: it has ended, and its name is free. */
  readonly predecessor?: string | undefined;
  /** How that worker ended, if it died: for the errors of jobs that keep killing their workers. */
  readonly predecessorEnded?: string | undefined;
  /** Lets the heartbeat's thread end the process. Absent in a program that embeds the worker: the process is the program's. */
  readonly guard?: GuardOptions;
  /** Starts the heartbeat's thread. Default: a `Worker`. */
  readonly startThread?: () => Promise<Thread>;
  /** Starts the processes of isolated classes. Default: those of this program. */
  readonly horseProcesses?: HorseProcesses;
  readonly clock?: Clock;
  /** How long a stop waits for the store in total; default 5 seconds. */
  readonly shutdownBudgetMs?: number;
  readonly pushMiddleware?: readonly PushMiddleware[];
  readonly batchMiddleware?: readonly BatchMiddleware[];
  readonly performMiddleware?: readonly PerformMiddleware[];
  /** Runs the functions of durable steps. Default: calls them. */
  readonly aroundStep?: AroundStep;
  readonly hooks?: Hooks;
  /** Returns the dump of the other workers of this process, for that of TTIN. */
  readonly dumpOthers?: () => readonly string[];
  /** Receives requests of signals and commands. Default: a new one. Pass one that has received signals during the start. */
  readonly inbox?: Inbox;
  /** Cron entries in addition to those of the settings. */
  readonly cron?: readonly CronEntryInput[];
  /** Selects the active cron entries; default `development`. */
  readonly environment?: string;
  /** Catch errors that belong to no job as well: for the executable. Default false. */
  readonly catchAllErrors?: boolean;
  /** Reopens the log: what USR2 requests. */
  readonly onReopen?: () => void;
  /** Reads the configuration again: what HUP requests. Absent: HUP does nothing. */
  readonly readSettings?: () => Promise<Settings>;
  /** Called when settings that were read again apply. */
  readonly onSettings?: (settings: Settings) => void;
  /** Called once, when a stop begins. */
  readonly onStopping?: () => void;
  /** Called once, when the worker has stopped. */
  readonly onStopped?: (failure: StoreError | undefined) => void;
}

/** The launcher, as its components see it. */
export interface LauncherHooks {
  /** The worker ID, `hostname:pid:nonce`. */
  readonly workerId: string;
  readonly clock: Clock;
  readonly inbox: Inbox;
  /** Describes the worker for its heartbeat. */
  readonly describe: () => WorkerRecord;
  /** How long a stop waits for running jobs. */
  readonly timeoutMs: () => number;
  /** Aborts when a stop is to end running jobs at once. */
  readonly cold: AbortSignal;
  /** Requests a stop; does nothing during a stop. */
  readonly end: (why: string) => void;
  /** Requests a stop because the worker cannot continue. */
  readonly fail: (error: StoreError) => void;
}
