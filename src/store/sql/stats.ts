/**
 * The totals, the sizes of the sets, and the state of the queues.
 *
 * @module
 */
import { getField, readWireTime } from "../../job/raw.ts";
import { type AdminStore, MAX_HELD, type QueueInfo, type Stats, WAIT_KINDS } from "../admin/admin.ts";
import { ALL_QUEUES } from "../port/paused_queues.ts";
import { type Body, type Dialect, query, type Row } from "./body.ts";
import { readLargest } from "./groups.ts";
import { inTexts } from "./in_parts.ts";
import { LIMIT_COLUMNS, limitIn } from "./limits.ts";
import * as limits from "./limits.ts";
import * as workers from "./workers.ts";

/** Maximum number of groups of a queue that are read to find its oldest job. */
const MAX_GROUPS_READ = 1_000;

const QUEUES = `SELECT ${LIMIT_COLUMNS}, name, paused, paused_until AS until, size + grouped AS size,
  (SELECT payload FROM job WHERE id = (
    SELECT min(job) FROM (
      SELECT min(job) AS job FROM queued WHERE queued.queue = queue.id
      UNION ALL
      SELECT (SELECT min(job) FROM queued WHERE queued.queue = ready.id) FROM (
        SELECT id FROM queue AS one WHERE one.parent = queue.id AND queue.grouped > 0 LIMIT ${MAX_GROUPS_READ}
      ) AS ready) AS first
  )) AS oldest,
  (SELECT count(*) FROM (
    SELECT 1 FROM queue AS one WHERE one.parent = queue.id AND one.state = 2 LIMIT ${MAX_HELD}) AS ones) AS held,
  (SELECT sum(size) FROM queue AS one WHERE one.parent = queue.id AND one.state = 3) AS aside,
  CASE WHEN EXISTS (SELECT 1 FROM group_limit WHERE group_limit.queue = queue.id) OR
    EXISTS (SELECT 1 FROM group_pause WHERE group_pause.queue = queue.id) THEN 1 ELSE 0 END AS has_settings
  FROM queue WHERE parent IS NULL`;

/** See `AdminStore.stats`. */
export function* stats(
  dialect: Dialect,
  { queues: named, groups = 0 }: NonNullable<Parameters<AdminStore["stats"]>[0]>,
  now: number,
): Body<Stats> {
  const queues = yield* readQueues(named, now);
  const largest = groups > 0 ? yield* readLargest(dialect, queues.map(({ name }) => name), groups) : undefined;
  const totals = counts(yield query("SELECT name, count FROM total WHERE name IN ('processed', 'failed')"));
  const sets = counts(yield query("SELECT place AS name, size AS count FROM set_size"));
  const waits = counts(yield query("SELECT kind AS name, count FROM step_waits"));
  const [leases] = yield query("SELECT count(*) AS n FROM lease");
  return {
    processed: totals.processed ?? 0,
    failed: totals.failed ?? 0,
    enqueued: queues.reduce((sum, queue) => sum + queue.size, 0),
    scheduled: sets.scheduled!,
    retry: sets.retry!,
    dead: sets.dead!,
    running: Number(leases!.n),
    workers: (yield* workers.list(now)).filter((worker) => worker.alive).length,
    waits: Object.fromEntries(WAIT_KINDS.map((kind) => [kind, waits[kind]!])) as Stats["waits"],
    queues: queues.map((queue) => largest?.has(queue.name) ? { ...queue, groups: largest.get(queue.name)! } : queue),
  };
}

function counts(rows: readonly Row[]): Record<string, number> {
  return Object.fromEntries(rows.map(({ name, count }) => [name, Number(count)]));
}

function* readQueues(named: readonly string[] | undefined, now: number): Body<QueueInfo[]> {
  const rows: Row[] = [];
  if (named === undefined) rows.push(...yield query(QUEUES));
  else {
    for (const { where, values } of inTexts(named, "name")) rows.push(...yield query(`${QUEUES} AND ${where}`, values));
  }
  const queues: QueueInfo[] = [];
  for (const row of rows) queues.push(yield* queueIn(row, now));
  const missing = [...new Set(named)].filter((name) => !queues.some((queue) => queue.name === name));
  return [...queues, ...missing.map((name) => ({ name, size: 0, latencyMs: 0, paused: false }))]
    .filter(({ name, paused }) => paused || name !== ALL_QUEUES) // the row for all queues isn't a queue
    .sort((a, b) => a.name < b.name ? -1 : 1);
}

function* queueIn(row: Row, now: number): Body<QueueInfo> {
  const { name, paused, until, size, oldest } = row;
  const limited = limitIn(row);
  const isPaused = paused === 1 && (until === null || Number(until) > now);
  const since = oldest === null ? undefined : readWireTime(getField(oldest as string, "enqueued_at"));
  return {
    name: name as string,
    size: Number(size),
    latencyMs: since === undefined ? 0 : Math.max(0, now - since),
    paused: isPaused,
    ...(isPaused && until !== null && { pausedForMs: Number(until) - now }),
    ...(limited && { limit: yield* limits.info(limited, now) }),
    ...(Number(row.held) > 0 && { heldGroups: Number(row.held) }),
    ...(Number(row.aside ?? 0) > 0 && { aside: Number(row.aside) }),
    ...(row.has_settings === 1 && { hasGroupSettings: true }),
  };
}
