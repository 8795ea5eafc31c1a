/**
 * The totals, the sizes of the sets, and the state of the queues.
 *
 * @module
 */
import { getField, readWireTime } from "../../job/raw.ts";
import { type AdminStore, MAX_HELD, type QueueInfo, type Stats, WAIT_KINDS } from "../admin/admin.ts";
import { ALL_QUEUES } from "../port/paused_queues.ts";
import { runNow } from "../sql/body.ts";
import * as workers from "../sql/workers.ts";
import type { Context } from "./context.ts";
import { readLargest } from "./group_pages.ts";
import { LIMIT_COLUMNS, limitIn } from "./limits.ts";
import * as limits from "./limits.ts";
import * as sets from "./sets.ts";

/** Maximum number of groups of a queue that are read to find its oldest job. */
const MAX_GROUPS_READ = 1_000;

/** See `AdminStore.stats`. */
export function stats(
  context: Context,
  { queues: named, groups = 0 }: Parameters<AdminStore["stats"]>[0] = {},
): Stats {
  const queues = readQueues(context, named);
  const largest = groups > 0 ? readLargest(context, queues.map(({ name }) => name), groups) : undefined;
  return {
    processed: total(context, "processed"),
    failed: total(context, "failed"),
    enqueued: queues.reduce((sum, queue) => sum + queue.size, 0),
    scheduled: sets.size(context, "scheduled"),
    retry: sets.size(context, "retry"),
    dead: sets.size(context, "dead"),
    running: Number(context.sql("SELECT count(*) AS n FROM lease").get()!.n),
    workers: runNow(workers.list(context.now()), context.sql).filter((worker) => worker.alive).length,
    waits: Object.fromEntries(
      WAIT_KINDS.map((
        kind,
      ) => [kind, Number(context.sql("SELECT count FROM step_waits WHERE kind = ?").get(kind)!.count)]),
    ) as Stats["waits"],
    queues: queues.map((queue) => largest?.has(queue.name) ? { ...queue, groups: largest.get(queue.name)! } : queue),
  };
}

function readQueues(context: Context, named?: readonly string[]): QueueInfo[] {
  const { sql, now } = context;
  const rows = sql(
    `SELECT ${LIMIT_COLUMNS}, name, paused, paused_until AS until, size + grouped AS size,
       (SELECT payload FROM job WHERE id = (
         SELECT min(job) FROM (
           SELECT min(job) AS job FROM queued WHERE queued.queue = queue.id
           UNION ALL
           SELECT (SELECT min(job) FROM queued WHERE queued.queue = ready.id) FROM (
             SELECT id FROM queue AS one WHERE one.parent = queue.id AND queue.grouped > 0 LIMIT ${MAX_GROUPS_READ}
           ) AS ready)
       )) AS oldest,
       (SELECT count(*) FROM (
         SELECT 1 FROM queue AS one WHERE one.parent = queue.id AND one.state = 2 LIMIT ${MAX_HELD})) AS held,
       EXISTS (SELECT 1 FROM group_limit WHERE group_limit.queue = queue.id) OR
         EXISTS (SELECT 1 FROM group_pause WHERE group_pause.queue = queue.id) AS has_settings
     FROM queue WHERE parent IS NULL AND ${
      named === undefined ? "?1 = '[]'" : "name IN (SELECT value FROM json_each(?1))"
    } ORDER BY name`,
  ).all(JSON.stringify(named ?? []));
  const queues = rows.map((row): QueueInfo => {
    const { name, paused, until, size, oldest } = row;
    const limited = limitIn(row);
    const isPaused = paused === 1 && (until === null || Number(until) > now());
    const since = oldest === null ? undefined : readWireTime(getField(oldest as string, "enqueued_at"));
    return {
      name: name as string,
      size: Number(size),
      latencyMs: since === undefined ? 0 : Math.max(0, now() - since),
      paused: isPaused,
      ...(isPaused && until !== null && { pausedForMs: Number(until) - now() }),
      ...(limited && { limit: limits.info(context, limited) }),
      ...(Number(row.held) > 0 && { heldGroups: Number(row.held) }),
      ...(row.has_settings === 1 && { hasGroupSettings: true }),
    };
  });
  const missing = [...new Set(named)].filter((name) => !queues.some((queue) => queue.name === name));
  return [...queues, ...missing.map((name) => ({ name, size: 0, latencyMs: 0, paused: false }))]
    .filter(({ name, paused }) => paused || name !== ALL_QUEUES) // the row for all queues isn't a queue
    .sort((a, b) => a.name < b.name ? -1 : 1);
}

function total({ sql }: Context, name: "processed" | "failed"): number {
  return Number(sql("SELECT count FROM total WHERE name = ?").get(name)?.count ?? 0);
}
