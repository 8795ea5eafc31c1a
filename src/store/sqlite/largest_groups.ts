/**
 * The largest groups of queues, for metrics.
 *
 * @module
 */
import { type LargestGroups, largestOf, MAX_COUNTED_GROUPS, splitName } from "../port/groups.ts";
import type { Context } from "./context.ts";
import { groupIn, wholeName } from "./groups.ts";

/** See `AdminStore.largestGroups`. */
export function readLargest({ sql }: Context, queues: readonly string[], count: number): LargestGroups[] {
  const running = new Map<string, Map<string, number>>();
  for (
    const row of sql(
      `SELECT (SELECT CAST(name AS BLOB) FROM queue WHERE id = lease.queue) AS name, count(*) AS n
       FROM lease WHERE from_group > 0 GROUP BY lease.queue`,
    ).all()
  ) {
    const { queue, group } = splitName(wholeName(row));
    if (!running.has(queue)) running.set(queue, new Map());
    running.get(queue)!.set(group!, Number(row.n));
  }
  return queues.flatMap((queue) => {
    const known = sql("SELECT id, grouped FROM queue WHERE name = ?").get(queue);
    const inQueue = running.get(queue) ?? new Map<string, number>();
    if (known === undefined || known.grouped === 0 && inQueue.size === 0) return [];
    const sizes = new Map(
      sql(
        `SELECT CAST(name AS BLOB) AS name, size FROM (
           SELECT name, size FROM queue WHERE parent = ? AND state > 0 LIMIT ${MAX_COUNTED_GROUPS})
         ORDER BY size DESC LIMIT ?`,
      ).all(known.id!, count).map((row) => [groupIn(wholeName(row)), Number(row.size)]),
    );
    return [largestOf(queue, { sizes, total: Number(known.grouped), running: inQueue }, count)];
  });
}
