/**
 * Hand-made data for `jobs top`.
 *
 * @module
 */
import { History } from "../../src/cli/top/history.ts";
import { runningJobs } from "../../src/cli/top/running_jobs.ts";
import { FIRST_STATE } from "../../src/cli/top/state.ts";
import type { Shown } from "../../src/cli/top/frame.ts";
import type { Snapshot } from "../../src/cli/top/snapshot.ts";
import type { QueueInfo, Stats } from "../../src/store/admin/admin.ts";
import type { Entry } from "../../src/store/port/entries.ts";
import type { Batch } from "../../src/store/port/batches.ts";
import type { WorkerInfo } from "../../src/store/port/workers.ts";

/** The time of all data in this file. */
export const NOW: number = Date.UTC(2026, 0, 1, 12);

/** Returns the counts of an empty store, changed by `more`. */
export function someStats(more: Partial<Stats> = {}): Stats {
  return {
    processed: 0,
    failed: 0,
    enqueued: 0,
    scheduled: 0,
    retry: 0,
    dead: 0,
    running: 0,
    workers: 0,
    waits: { sleep: 0, wait: 0, child: 0 },
    queues: [],
    ...more,
  };
}

/** Returns a queue. */
export function someQueue(name: string, more: Partial<QueueInfo> = {}): QueueInfo {
  return { name, size: 0, latencyMs: 0, paused: false, ...more };
}

/** Returns a live worker that has performed these jobs for a second. */
export function someWorker(
  id: string,
  payloads: readonly string[] = [],
  more: Partial<WorkerInfo> = {},
): WorkerInfo {
  return {
    id,
    hostname: "web1",
    pid: 1,
    tag: "",
    labels: [],
    queues: ["default"],
    weights: {},
    concurrency: 10,
    version: "0.1.0",
    startedAt: NOW - 60_000,
    quiet: false,
    busy: payloads.length,
    rss: 100 * 1024 * 1024,
    work: payloads.map((payload, i) => ({ task: `processor-${i}`, queue: "default", payload, since: NOW - 1_000 })),
    heartbeatAt: NOW,
    alive: true,
    ...more,
  };
}

/** Returns a running batch. */
export function someBatch(id: string, more: Partial<Batch> = {}): Batch {
  return {
    ...{ id, tags: [], state: "running", createdAt: NOW - 60_000, closedAt: NOW, callbacks: [], version: 1 },
    ...{ total: 0, pending: 0, dead: 0, succeeded: 0, failed: 0, cancelled: 0, expired: 0, deleted: 0 },
    ...more,
  };
}

/** Returns a payload. */
export function somePayload(jid: string, name = "Import", args: unknown[] = []): string {
  return JSON.stringify({ class: name, args, jid, queue: "default", retry: true });
}

/** Returns a snapshot. Its running jobs are those of its workers. */
export function someSnapshot(more: Partial<Snapshot> = {}): Snapshot {
  const workers = more.workers ?? [];
  const entries = workers.flatMap(({ id, work }) =>
    work.map(({ task, payload, since }): Entry => ({
      ref: `${id} ${task} ${since}`,
      place: { in: "running" },
      payload,
      at: since,
      worker: id,
    }))
  );
  const totals = { ...someStats(), running: entries.length };
  return {
    at: NOW,
    url: "sqlite:jobs.db",
    stats: totals,
    ...runningJobs(workers.map(withTotals), { entries }),
    batches: [],
    ...more,
  };
}

/** Returns a worker of `jobs`. Workers of Sidekiq report no totals. */
function withTotals(worker: WorkerInfo): WorkerInfo {
  return { totals: {}, ...worker };
}

/** Returns a screen with this snapshot. */
export function someScreen(more: Partial<Shown> = {}): Shown {
  return {
    state: FIRST_STATE,
    snapshot: someSnapshot(),
    history: new History(),
    problem: undefined,
    columns: 100,
    rows: 30,
    live: true,
    ...more,
  };
}
