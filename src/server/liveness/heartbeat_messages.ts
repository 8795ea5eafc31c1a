/**
 * The messages between the main thread and the heartbeat's thread, and the pause that both make after a failure.
 *
 * @module
 */
import type { LogOptions } from "../../log/lines.ts";
import type { StoreOptions } from "../../store/open.ts";
import type { BlockedLoop, Command, HeartbeatReply, WorkerRecord } from "../../store/port/workers.ts";
import type { Word } from "../control/task_board.ts";
import type { Moment } from "../work/lease_guard.ts";

/** Maximum pause between two attempts to reach the store. */
const MAX_RETRY_MS = 2_000;

/**
 * Returns the pause after a heartbeat, or a connection, that failed. A worker has one timeout to send a heartbeat, also if several
 * short outages each meet one: with a short timeout the pauses must be short, too.
 */
export function retryMs(ttlMs: number): number {
  return Math.min(MAX_RETRY_MS, ttlMs / 10);
}

/** Lets the thread listen to signals, log, and end the process. For `jobs run`, not for a program that embeds a worker. */
export interface GuardOptions {
  /** How long a stop waits for running jobs. */
  readonly timeoutMs: number;
  /** The supervisor that has started this process. */
  readonly parent?: number | undefined;
  /** Where the process logs. */
  readonly log: LogOptions;
  /** Whether the process has started in a terminal: see `hadTerminal`. */
  readonly hadTerminal: boolean;
}

export type ToHeartbeat =
  | {
    readonly kind: "start";
    /** Undefined if the main thread sends the heartbeats. */
    readonly storeUrl: string | undefined;
    readonly storeOptions: StoreOptions;
    readonly record: WorkerRecord;
    readonly at: Moment;
    /** See `unstarted_memory.ts`. */
    readonly unstarted: SharedArrayBuffer;
    /** See `task_board.ts`. */
    readonly board: SharedArrayBuffer;
    readonly intervalMs: number;
    readonly ttlMs: number;
    readonly guard: GuardOptions | undefined;
  }
  | { readonly kind: "record"; readonly record: WorkerRecord; readonly at: Moment }
  | { readonly kind: "word"; readonly word: Word }
  /** Jobs have been taken that the thread has to watch. */
  | { readonly kind: "watch" }
  | { readonly kind: "alive" }
  /** The next heartbeat is due at once. */
  | { readonly kind: "beat" }
  /** The shutdown timeout has changed. */
  | { readonly kind: "timeout"; readonly ms: number }
  /** No more heartbeats. The thread still keeps the deadline of the stop. */
  | { readonly kind: "stop" };

export type FromHeartbeat =
  /** The reply is `record`. */
  | { readonly kind: "report" }
  /** The reply is `alive`. */
  | { readonly kind: "ping" }
  /** Jobs that had not started were returned to their queues. Another worker already had `lost` of them. */
  | { readonly kind: "returned"; readonly tokens: readonly string[]; readonly lost: number }
  /** `sentAt` is when the main side described the worker, which was before the heartbeat was sent. */
  | HeartbeatReply & { readonly kind: "beat"; readonly sentAt: Moment; readonly loopDelayMs: number }
  | { readonly kind: "commands"; readonly commands: readonly Command[] }
  /** The event loop was blocked. */
  | { readonly kind: "blocked"; readonly ms: number; readonly by: BlockedLoop | undefined }
  | { readonly kind: "failed" | "gone"; readonly error: string }
  | { readonly kind: "stopped" };
