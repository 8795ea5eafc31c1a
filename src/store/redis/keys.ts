/**
 * The names of the keys: Sidekiq's, and ours, which begin with `jobs:`. The scripts in `lua/` build the same names.
 *
 * @module
 */
import type { LogName } from "../port/logs.ts";
import type { SetName } from "../port/entries.ts";
import { nameOf } from "../port/groups.ts";

/** Sidekiq: names of all queues (set). */
export const QUEUES = "queues";
/** Sidekiq: names of the paused queues (set). */
const PAUSED = "paused";
/** Ours: queues that are paused for a time, by the end of the pause in epoch milliseconds (sorted set). */
const PAUSED_UNTIL = "jobs:paused-until";
/** Ours: queue → its limit, "RUNNING STARTS PER_MS", and " g" if it has groups (hash). */
export const LIMITS = "jobs:limits";
/** Sidekiq: IDs of the workers (set). */
export const PROCESSES = "processes";
/** Sidekiq: the sets of jobs by time (sorted sets). */
export const SETS: Readonly<Record<SetName, string>> = { scheduled: "schedule", retry: "retry", dead: "dead" };
/** Ours: worker ID → when its last heartbeat expires, in epoch milliseconds (sorted set). */
export const WORKERS = "jobs:workers";
/** Ours: the channel that announces changes to waiting clients (`wait/wake_channel.ts`). */
export const WAKE_CHANNEL = "jobs:wake";

/** Sidekiq: the number of jobs that finished or failed on a day (string). */
export function dayKey(name: "processed" | "failed", day: string): string {
  return `stat:${name}:${day}`;
}

/** Sidekiq: the jobs of a queue; pushed on the left, taken on the right (list). */
export function queueKey(queue: string): string {
  return `queue:${queue}`;
}

/** The list of a queue's jobs without a group, or of a group's jobs (`port/groups.ts`). */
export function listKey({ queue, group }: { readonly queue: string; readonly group?: string }): string {
  return queueKey(nameOf(queue, group));
}

/** Ours: the queues in which jobs wait aside, or did (set). */
const ASIDES = "jobs:asides";

/** Ours: the state of a queue's groups (see `lua/groups.lua`). */
export function groupsKey(what: "ready" | "held" | "aside" | "limits" | "paused" | "state", queue: string): string {
  return `jobs:groups:${what}:${queue}`;
}

/** Ours: the leases of a worker, token → payload (hash). */
export function leasesKey(worker: string): string {
  return `jobs:leases:${worker}`;
}

/** Ours: the commands to a worker (list). */
export function commandsKey(worker: string): string {
  return `jobs:commands:${worker}`;
}

/** Sidekiq: the signals to a worker (list). */
export function signalsKey(worker: string): string {
  return `${worker}-signals`;
}

/** Ours: the reply to a command (list of one element). */
export function replyKey(id: string): string {
  return `jobs:reply:${id}`;
}

/** Ours: the worker that holds a name (hash). */
export function nameKey(name: string): string {
  return `jobs:claim:${name}`;
}

/** Ours: the job that the next push with a debounce key replaces, "MS JID MEMBER" (string). */
export function debounceKey(key: string): string {
  return `jobs:debounce:${key}`;
}

/** Ours: the key of an idempotent push, "MS/FINGERPRINT JID" (string). */
export function onceKey(key: string): string {
  return `jobs:once:${key}`;
}

/** Ours: the accepted pushes of a throttle, "MS JID" (list). */
export function throttleKey(key: string): string {
  return `jobs:throttle:${key}`;
}

/** Ours: marks a batch of another store's jobs as imported (string). */
export function importedKey(key: string): string {
  return `jobs:imported:${key}`;
}

/** Ours: the last batch of jobs that was migrated to another store, or is about to be (hash). */
export const ANNOUNCED = "jobs:announced";

/** Ours: the number of the last script in which a client moved entries, and its reply (string). */
export function moverKey(client: string): string {
  return `jobs:mover:${client}`;
}

/** Ours: the number of the last batch that a client pushed, and its refused jobs (string). */
export function pusherKey(client: string): string {
  return `jobs:pusher:${client}`;
}

/** Ours: the number of announced changes of cron entries (string). */
export const CRON_CHANGES = "jobs:cron:changes";

/** Ours: the reply to one write of cron entries, kept while the write may be sent again (string). */
export function cronDoneKey(write: string): string {
  return `jobs:cron:done:${write}`;
}

/** A log: a stream, of a cron entry a list. */
export function logKey(log: LogName): string {
  return log === "audit" ? AUDIT : `jobs:cron:log:${log.slice("cron:".length)}`;
}

/** Ours: class → the options that workers declare for its jobs (hash). */
export const CLASSES = "jobs:classes";

/** Ours: what each worker has declared, its ID and the name → since, position and JSON (hash): see `sql/declarations.ts`. */
export const DECLARED = "jobs:declared";

/** Ours: which webhook gets which events (string, JSON). */
export const WEBHOOKS = "jobs:webhooks";

/** Ours: the log of events (stream), and the channel that announces more of them. */
export const EVENTS = "jobs:events";

/** Ours: until when events are recorded, and how long they are kept (hash). */
const EVENTS_LOG = "jobs:events:log";

/** Ours: the record of a job that has ended (string). */
export function resultKey(jid: string): string {
  return `jobs:result:${jid}`;
}

/** Ours: jids of ended jobs, in the order of their ends (sorted set). */
const ENDED = "jobs:ended";
/** Ours: the channel that announces the jid of each job that leaves a record. */
export const RESULTS_CHANNEL = "jobs:results";

/** Ours: the steps of a job, name → record (hash). */
export function stepsKey(jid: string): string {
  return `jobs:steps:${jid}`;
}

/** Ours: the stream of a job (stream). */
export function streamKey(jid: string): string {
  return `jobs:stream:${jid}`;
}

/** Ours: the channel that announces the jid of each job whose stream has changed. */
export const STREAMS_CHANNEL = "jobs:streams";

/** Ours: the number of waits of all jobs' steps by `KIND HOUR`, the hour in which their time passes (hash). */
const WAITS = "jobs:waits";

/** Ours: the steps that wait for signals, by the time at which they time out (sorted set). */
export const WAITING = "jobs:waiting";

/** Ours: the steps that wait for a signal, oldest first (sorted set). */
export function waitingKey(key: string): string {
  return `${WAITING}:${key}`;
}

/** Ours: the counters of a batch, and the jobs to push when its members have ended (hash). */
export function batchKey(id: string): string {
  return `jobs:batch:${id}`;
}

/** Ours: IDs of the batches. They sort by age (sorted set). */
export const BATCHES = "jobs:batches";
/** Ours: IDs of batches → when they are abandoned or removed, in epoch milliseconds (sorted set). */
export const BATCHES_DUE = "jobs:batches:due";

/** Ours: the nodes of a flow: `lua/flows.lua` has its fields (hash). */
export function flowKey(id: string): string {
  return `jobs:flow:${id}`;
}

/** Ours: the names of a flow's nodes, in order (list). */
export function flowNodesKey(id: string): string {
  return `jobs:flow:${id}:nodes`;
}

/** Ours: the names of a flow's nodes that wait for none (list). */
export function flowRootsKey(id: string): string {
  return `jobs:flow:${id}:roots`;
}

/** Ours: IDs of the flows, which sort by age (sorted set). */
export const FLOWS = "jobs:flows";
/** Ours: the ends of nodes whose followers are yet to be pushed or cancelled (list). */
const FLOWS_PENDING = "jobs:flows:pending";

/** Ours: the reply to a signal, kept while the signal may be sent again (string). */
export function signalledKey(id: string): string {
  return `jobs:signalled:${id}`;
}

/** Ours: what is known of a worker until it is rescued (hash). */
export function workerKey(worker: string): string {
  return `jobs:worker:${worker}`;
}

/** Ours: a child job was pushed, kept while its push may be sent again (string). */
export function waitedKey(child: string): string {
  return `jobs:waited:${child}`;
}

/** Ours: the audit log (stream). */
export const AUDIT = "jobs:audit";

/** Ours: the key that signs sessions and forms of dashboards (string). */
export const SESSION_KEY = "jobs:session-key";

/** Ours: the live sessions of a dashboard's user, by their expiry (sorted set). */
export function sessionsKey(user: string): string {
  return `jobs:sessions:${user}`;
}

/** The keys with fixed names, and their types. */
export const TYPES: Readonly<Record<string, string>> = {
  [QUEUES]: "set",
  [PAUSED]: "set",
  [PAUSED_UNTIL]: "zset",
  [LIMITS]: "hash",
  [ASIDES]: "set",
  [PROCESSES]: "set",
  [SETS.scheduled]: "zset",
  [SETS.retry]: "zset",
  [SETS.dead]: "zset",
  [WORKERS]: "zset",
  [ENDED]: "zset",
  [BATCHES]: "zset",
  [BATCHES_DUE]: "zset",
  [FLOWS]: "zset",
  [FLOWS_PENDING]: "list",
  [AUDIT]: "stream",
  [SESSION_KEY]: "string",
  [WAITS]: "hash",
  [WAITING]: "zset",
  [CLASSES]: "hash",
  [DECLARED]: "hash",
  [ANNOUNCED]: "hash",
  [WEBHOOKS]: "string",
  [EVENTS]: "stream",
  [EVENTS_LOG]: "hash",
};
