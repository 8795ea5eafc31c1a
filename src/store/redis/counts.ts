/**
 * The totals and the state of the queues, read by one script unless there are many queues; and the totals of each day.
 *
 * @module
 */
import { getField, readWireTime } from "../../job/raw.ts";
import { type AdminStore, MAX_HELD, type QueueInfo, type Stats } from "../admin/admin.ts";
import type { LimitInfo } from "../port/limits.ts";
import { ALL_QUEUES } from "../port/paused_queues.ts";
import type { Context } from "./context.ts";
import { readLargest } from "./groups.ts";
import { queueKey } from "./keys.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** Maximum number of queues that one script reads. */
const MAX_QUEUES_PER_SCRIPT = 500;

/** See `AdminStore.stats`. */
export async function readStats(
  context: Context,
  { queues: named, groups = 0 }: Parameters<AdminStore["stats"]>[0] = {},
): Promise<Stats> {
  const { client } = context;
  const [counts, rows] = await readRows(context, named);
  const [now, processed, failed, scheduled, retry, dead, running, workers, sleep, wait, child] = counts;
  for (const row of rows) {
    // The payloads are large: read them one at a time.
    if (row[2] === "") row[2] = await client.call(["LINDEX", queueKey(row[0]), "-1"]) as string | null;
  }
  const queues = rows
    .map(([name, size, oldest, paused, held, isSet, aside, ...limit]): QueueInfo => ({
      name,
      size: Math.max(0, size),
      latencyMs: oldest === null ? 0 : Math.max(0, now! - (enqueuedAt(oldest) ?? now!)),
      paused: paused !== 0,
      ...(paused > 0 && { pausedForMs: paused }),
      ...(limit.length > 0 && { limit: limitOf(limit as LimitRow) }),
      ...(held > 0 && { heldGroups: Math.min(held, MAX_HELD) }),
      ...(aside > 0 && { aside }),
      ...(isSet === 1 && { hasGroupSettings: true }),
    }))
    // A request for `*` asks for the pause of all queues. Without a request, another program has listed a queue of that name.
    .filter(({ name, paused }) => named === undefined || paused || name !== ALL_QUEUES)
    .sort((a, b) => a.name < b.name ? -1 : 1);
  const largest = groups > 0 ? await readLargest(context, queues.map(({ name }) => name), groups) : undefined;
  return {
    processed: processed!,
    failed: failed!,
    enqueued: queues.reduce((sum, queue) => sum + queue.size, 0),
    scheduled: scheduled!,
    retry: retry!,
    dead: dead!,
    running: running!,
    workers: workers!,
    waits: { sleep: sleep!, wait: wait!, child: child! },
    queues: queues.map((queue) => largest?.has(queue.name) ? { ...queue, groups: largest.get(queue.name)! } : queue),
  };
}

/** Returns the queues whose key isn't a list: jobs can neither be pushed to them nor taken. */
export async function foreignQueues(context: Context): Promise<string[]> {
  const [, rows] = await readRows(context);
  return rows.filter(([, size]) => size < 0).map(([name]) => name).sort();
}

async function readRows(
  { client, offset }: Context,
  named?: readonly string[],
): Promise<[counts: number[], rows: QueueRow[]]> {
  const readNamed = async (names: readonly string[]) => {
    const rows: QueueRow[] = [];
    for (let from = 0; from < names.length; from += MAX_QUEUES_PER_SCRIPT) {
      const some = names.slice(from, from + MAX_QUEUES_PER_SCRIPT);
      rows.push(...await client.run(SCRIPTS.readQueueRows, { now: offset(), names: some }) as QueueRow[]);
    }
    return rows;
  };
  const most = named === undefined ? MAX_QUEUES_PER_SCRIPT : 0;
  const [[counts, rows, others], some] = await Promise.all([
    client.run(SCRIPTS.stats, { now: offset(), maxRows: most }) as Promise<[number[], QueueRow[], string[]]>,
    readNamed([...new Set(named)]),
  ]);
  return [counts, [...some, ...rows, ...await readNamed(others)]];
}

/** A row that the script returns for a queue. */
type QueueRow = [
  name: string,
  size: number,
  oldest: string | null,
  paused: number,
  held: number,
  isSet: 0 | 1,
  aside: number,
  ...limit: [] | LimitRow,
];

/** The fields that the script returns for a limit. */
type LimitRow = [limit: string, opensInMs: number, taken: number, started: number];

function limitOf([limit, opensInMs, taken, started]: LimitRow): LimitInfo {
  const [running, count, perMs] = limit.split(" ").map(Number);
  return {
    ...(running! > 0 && { running: running! }),
    ...(count! > 0 && { starts: { count: count!, perMs: perMs! } }),
    taken,
    started,
    freeInMs: opensInMs < 0 ? undefined : opensInMs,
  };
}

function enqueuedAt(payload: string): number | undefined {
  return readWireTime(getField(payload, "enqueued_at")) ?? readWireTime(getField(payload, "created_at"));
}
