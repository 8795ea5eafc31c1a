/**
 * Running jobs that hold up others: a handler that blocks its worker's event loop, one that ignores its signal, and the one that
 * has run longest. Pure.
 *
 * @module
 */
import { performedIn } from "../../job/job.ts";
import { getField } from "../../job/raw.ts";
import { type Runtime, runtimeOf } from "./runtimes.ts";
import type { RunningJobRecord, WorkerInfo } from "../port/workers.ts";

/** A running job, or a worker that a job can't be named for. */
export interface Stall {
  /** `blocked`: it blocks the event loop. `ignores-signal`: its signal has aborted, and it continues. `running`: neither is known. */
  readonly is: "blocked" | "ignores-signal" | "running";
  /** The worker ID. */
  readonly worker: string;
  /** Epoch milliseconds: when the event loop was blocked; otherwise when the job started. */
  readonly since: number;
  /** Absent, as `jid` is, if several jobs run and one of them blocks. */
  readonly class?: string;
  readonly jid?: string;
  /** Why its signal has aborted: `Timeout`, `Cancelled`, `Shutdown`, `LeaseLost`. */
  readonly abortReason?: string;
  /** When it has, in epoch milliseconds. */
  readonly abortedAt?: number;
  /** The runtime of its worker, if that is another program. */
  readonly runtime?: Runtime;
}

/** The part of a worker's record that shows stalls. */
export type StallingWorker =
  & Pick<WorkerInfo, "id" | "alive">
  & Partial<Pick<WorkerInfo, "work" | "blocked" | "version">>;

/** Returns the jobs that block event loops and those that ignore their signals, on online workers. */
export function stallsOf(workers: readonly StallingWorker[]): Stall[] {
  return workers.filter(({ alive }) => alive).flatMap((worker) => {
    const blocked = blockedStall(worker);
    if (blocked !== undefined) return [blocked];
    return (worker.work ?? []).filter(({ abortReason }) => abortReason !== undefined).map((job) =>
      stallOf(worker, job)
    );
  });
}

/** Returns how the event loop of a worker is blocked; undefined if it isn't. */
export function blockedStall({ id, blocked }: StallingWorker): Stall | undefined {
  if (blocked === undefined) return undefined;
  const { since, class: name, jid } = blocked;
  return {
    is: "blocked",
    worker: id,
    since,
    ...(name !== undefined && { class: name }),
    ...(jid !== undefined && { jid }),
  };
}

/** Returns the running job with this jid on these workers; undefined if none has reported it. */
export function runningJob(workers: readonly StallingWorker[], jid: string): Stall | undefined {
  return workers.flatMap((worker) => (worker.work ?? []).map((job) => stallOf(worker, job)))
    .find((stall) => stall.jid === jid);
}

/** A job that has run for less isn't why others wait. It may have ended since its worker's heartbeat. */
export const LONG_RUN_MS = 10_000;

/** Returns the job of a queue that has run longest on these workers; undefined if none has run for {@linkcode LONG_RUN_MS}. */
export function longRunning(workers: readonly StallingWorker[], queue: string, now: number): Stall | undefined {
  const longest = longestRunning(workers, queue);
  return longest !== undefined && now - longest.since >= LONG_RUN_MS ? longest : undefined;
}

/** Returns the job of these workers that has run longest, or the one of a queue; undefined if none runs. */
export function longestRunning(workers: readonly StallingWorker[], queue?: string): Stall | undefined {
  const running = workers.flatMap((worker) =>
    (worker.work ?? []).filter((job) => queue === undefined || job.queue === queue).map((job) => stallOf(worker, job))
  );
  return running.toSorted((a, b) => a.since - b.since)[0];
}

function stallOf({ id, version }: StallingWorker, { payload, since, abortReason, abortedAt }: RunningJobRecord): Stall {
  const [name, jid] = [performedIn(payload), getField(payload, "jid")];
  const runtime = runtimeOf(version);
  return {
    is: abortReason === undefined ? "running" : "ignores-signal",
    worker: id,
    since,
    ...(name !== undefined && { class: name }),
    ...(typeof jid === "string" && { jid }),
    ...(abortReason !== undefined && { abortReason }),
    ...(abortedAt !== undefined && { abortedAt }),
    ...(runtime !== undefined && { runtime }),
  };
}
