/**
 * The rows of groups after a take.
 *
 * @module
 */
import { type Body, type Dialect, query } from "./body.ts";
import { hasLimits, limitOf } from "./limits.ts";

/** Maximum number of idle groups that one take deletes: more than it can leave behind. */
const MAX_DELETED_GROUPS = 200;

/** The state of a queue's turns after a take. */
interface QueueTurns {
  readonly vtime: number;
  /** The virtual time of the jobs without a group. */
  readonly tag: number;
  /** Jobs that were taken from groups. */
  readonly grouped: number;
  /** Maximum number of groups to delete. */
  readonly forget: number;
}

/**
 * Stores the state of a queue's turns, and deletes idle groups without state: their tag isn't ahead of the queue's virtual
 * time, and neither a lease nor a counted start names them.
 */
export function* advance(
  { skipLocked }: Dialect,
  queue: number,
  { vtime, tag, grouped, forget }: QueueTurns,
  now: number,
): Body<void> {
  const shrunk = grouped === 0 ? "" : "grouped = grouped - ?4,";
  yield query(
    `UPDATE queue SET ${shrunk} tag = ?2, vtime = CASE WHEN grouped = ?4 AND size = 0 THEN
       coalesce((SELECT max(one.tag) FROM queue AS one WHERE one.parent = ?3 AND one.tag > ?1), ?1) ELSE ?1 END WHERE id = ?3`,
    [vtime, tag, queue, grouped],
  );
  const idle = yield query(
    `SELECT id, name FROM queue WHERE parent = ?1 AND state = 0 AND tag <= (SELECT vtime FROM queue WHERE id = ?1)
       AND id NOT IN (SELECT queue FROM lease WHERE from_group > 0) LIMIT ?2 ${skipLocked}`,
    [queue, Math.min(MAX_DELETED_GROUPS, forget)],
  );
  if (idle.length === 0) return;
  const mayBeLimited = yield* hasLimits(queue);
  for (const { id, name } of idle as unknown as readonly { readonly id: number; readonly name: string }[]) {
    if (mayBeLimited) {
      const { starts } = yield* limitOf(queue, groupIn(name), now);
      yield query("DELETE FROM start WHERE queue = ?1 AND at <= ?2", [id, starts ? now - starts.perMs : now]);
    } else yield query("DELETE FROM start WHERE queue = ?1", [id]);
    yield query("DELETE FROM queue WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM start WHERE start.queue = ?1)", [id]);
  }
}

/** Returns the group in `QUEUE|GROUP`. */
export function groupIn(name: string): string {
  return name.slice(name.indexOf("|") + 1);
}
