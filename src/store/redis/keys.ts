/**
 * The names of the keys: Sidekiq's own, and ours, which begin with `jobs:`. The scripts under `lua/` build the same
 * names.
 *
 * @module
 */
import type { SetName } from "../admin/admin.ts";
import { nameOf } from "../port/groups.ts";

/** Sidekiq: names of all queues (set). */
export const QUEUES = "queues";
/** Sidekiq: names of the paused queues (set). */
const PAUSED = "paused";
/** Ours: queues that are paused for a time, by its end in epoch milliseconds (sorted set). */
export const PAUSED_UNTIL = "jobs:paused-until";
/** Ours: queue → its limit, "RUNNING STARTS PER_MS", and " g" if it has groups (hash). */
export const LIMITS = "jobs:limits";
/** Sidekiq: identities of the processes (set). */
export const PROCESSES = "processes";
/** Sidekiq: the sets of jobs by time (sorted sets). */
export const SETS: Readonly<Record<SetName, string>> = { scheduled: "schedule", retry: "retry", dead: "dead" };
/** Ours: identity → until when it counts as alive, epoch milliseconds (sorted set). */
export const OWNERS = "jobs:owners";
/** Ours: the channel that tells of an earlier due time, or of a queue that is let go again. */
export const WAKE_CHANNEL = "jobs:wake";

/** Sidekiq: how many jobs were finished on a day, or failed (string). */
export function dayKey(name: "processed" | "failed", day: string): string {
  return `stat:${name}:${day}`;
}

/** Sidekiq: the jobs of a queue; pushed on the left, taken on the right (list). */
export function queueKey(queue: string): string {
  return `queue:${queue}`;
}

/** The list of a queue's jobs without a group, or of a group's (`port/groups.ts`). */
export function listKey({ queue, group }: { readonly queue: string; readonly group?: string }): string {
  return queueKey(nameOf(queue, group));
}

/** Ours: what is known of a queue's groups (see `lua/groups.lua`). */
export function groupsKey(what: "ready" | "held" | "limits", queue: string): string {
  return `jobs:groups:${what}:${queue}`;
}

/** Ours: the leases of a process, token → payload (hash). */
export function leasesKey(owner: string): string {
  return `jobs:leases:${owner}`;
}

/** Ours: what was asked of a process (list). */
export function commandsKey(identity: string): string {
  return `jobs:commands:${identity}`;
}

/** Sidekiq: the signals sent to a process (list). */
export function signalsKey(identity: string): string {
  return `${identity}-signals`;
}

/** Ours: the answer to a command (list of one). */
export function replyKey(id: string): string {
  return `jobs:reply:${id}`;
}

/** Ours: the worker that holds a name (hash). */
export function nameKey(name: string): string {
  return `jobs:claim:${name}`;
}

/** Ours: that a batch of another store's jobs was imported (string). */
export function importedKey(key: string): string {
  return `jobs:imported:${key}`;
}

/** Ours: the last batch of jobs that went, or is about to go, to another store (hash). */
export const ANNOUNCED = "jobs:announced";

/** Ours: the number of the last script in which a client moved entries, and its answer (string). */
export function moverKey(client: string): string {
  return `jobs:mover:${client}`;
}

/** Ours: the number of the last batch that a client pushed, and the jobs of it that were refused (string). */
export function pusherKey(client: string): string {
  return `jobs:pusher:${client}`;
}

/** Ours: how often something about the crontab was told (string). */
export const CRON_TOLD = "jobs:cron:told";

/** Ours: the answer to one write of the crontab, for as long as it may be sent again (string). */
export function cronDoneKey(write: string): string {
  return `jobs:cron:done:${write}`;
}

/** Ours: what became of an entry's occurrences, newest first (list). */
export function cronHistoryKey(name: string): string {
  return `jobs:cron:history:${name}`;
}

/** Ours: class → what servers say about its jobs (hash). */
export const CLASSES = "jobs:classes";

/** Ours: the record of a job that has ended (string). */
export function resultKey(jid: string): string {
  return `jobs:result:${jid}`;
}

/** Ours: jids of jobs that have ended, in that order (sorted set). */
export const ENDED = "jobs:ended";
/** Ours: the channel that tells the jid of each job that leaves a record. */
export const RESULTS_CHANNEL = "jobs:results";

/** Ours: the steps of a job, name → record (hash). */
export function stepsKey(jid: string): string {
  return `jobs:steps:${jid}`;
}

/** Ours: a batch: its counters, and the jobs to push when its members have ended (hash). */
export function batchKey(id: string): string {
  return `jobs:batch:${id}`;
}

/** Ours: IDs of the batches, which sort by age (sorted set). */
export const BATCHES = "jobs:batches";
/** Ours: IDs of batches → when they are abandoned or removed, in epoch milliseconds (sorted set). */
export const BATCHES_DUE = "jobs:batches:due";

/** Ours: the answer to a signal, for as long as it may be sent again (string). */
export function signalledKey(id: string): string {
  return `jobs:signalled:${id}`;
}

/** Ours: what people did (stream). */
export const AUDIT = "jobs:audit";

/** Every key whose type can be told beforehand, with it. */
export const TYPES: Readonly<Record<string, string>> = {
  [QUEUES]: "set",
  [PAUSED]: "set",
  [PAUSED_UNTIL]: "zset",
  [LIMITS]: "hash",
  [PROCESSES]: "set",
  [SETS.scheduled]: "zset",
  [SETS.retry]: "zset",
  [SETS.dead]: "zset",
  [OWNERS]: "zset",
  [ENDED]: "zset",
  [BATCHES]: "zset",
  [BATCHES_DUE]: "zset",
  [AUDIT]: "stream",
  [CLASSES]: "hash",
  [ANNOUNCED]: "hash",
};
