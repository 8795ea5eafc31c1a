/**
 * What a server is made of, as the launcher is told.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Settings } from "../config/settings.ts";
import type { CronEntryInput } from "../cron/entry.ts";
import type { PerformMiddleware } from "../handlers/handler.ts";
import type { Registry } from "../handlers/registry.ts";
import type { BatchMiddleware, PushMiddleware } from "../client/middleware.ts";
import type { StoreError } from "../store/port/errors.ts";
import type { StoreOptions } from "../store/open.ts";
import type { Hooks } from "./hooks.ts";
import type { Inbox } from "./control/signals.ts";
import type { WorkerRecord } from "../store/port/workers.ts";
import type { ServerStore } from "../store/port/store.ts";

/** What a server is made of. */
export interface LauncherOptions {
  /** Opened by the caller, and closed by the caller after `Launcher.finished`. */
  readonly store: ServerStore;
  /** The address the store was opened with, and how: the heartbeat opens it once more. */
  readonly storeUrl: string;
  readonly storeOptions?: StoreOptions;
  readonly registry: Registry;
  readonly settings: Settings;
  /** The last part of its identity, where another knows it beforehand; default one that nobody else has. */
  readonly nonce?: string | undefined;
  /** The identity of the process whose place this one takes, which has ended: its name is free. */
  readonly predecessor?: string | undefined;
  /** How that process ended, if it died: the errors of jobs that keep killing their workers say so. */
  readonly predecessorEnded?: string | undefined;
  /** The process number of its supervisor, which it must not outlive. */
  readonly parent?: number | undefined;
  readonly clock?: Clock;
  /** How long a stop waits for a store that does not answer, in all; default 5 seconds. */
  readonly shutdownBudgetMs?: number;
  readonly pushMiddleware?: readonly PushMiddleware[];
  readonly batchMiddleware?: readonly BatchMiddleware[];
  readonly performMiddleware?: readonly PerformMiddleware[];
  readonly hooks?: Hooks;
  /** What signals and commands ask goes in there; default one of its own. Give one that listened before the launcher. */
  readonly inbox?: Inbox;
  /** Crontab entries beside those of the settings. */
  readonly cron?: readonly CronEntryInput[];
  /** Decides which crontab entries are active; default `development`. */
  readonly environment?: string;
  /** Catch errors that belong to no job, too: for a program that is nothing but a server. Default false. */
  readonly catchAllErrors?: boolean;
  /** Reopens the log: what USR2 asks for. */
  readonly onReopen?: () => void;
  /** Reads the configuration again: what HUP asks for. Absent: HUP does nothing. */
  readonly readSettings?: () => Promise<Settings>;
  /** Called when settings that were read again apply. */
  readonly onSettings?: (settings: Settings) => void;
  /** Called once, when stopping begins. */
  readonly onStopping?: () => void;
  /** Called once, when the worker has stopped, with what it could not do. */
  readonly onStopped?: (failure: StoreError | undefined) => void;
}

/** What components need of the launcher. */
export interface LauncherHooks {
  /** The worker ID, `hostname:pid:nonce`. */
  readonly identity: string;
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
