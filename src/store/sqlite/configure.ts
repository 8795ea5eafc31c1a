/**
 * Settings of queues and groups: pauses, limits. See `AdminStore.configure`.
 *
 * @module
 */
import { limitedGroup, type QueueSettings } from "../admin/admin.ts";
import { type GroupLimit, nameOf } from "../port/groups.ts";
import type { QueueLimit } from "../port/limits.ts";
import type { Context } from "./context.ts";
import { advance } from "./groups.ts";
import { COUNTED, hasLimits, UNCOUNTED } from "./limits.ts";
import { idOf } from "./queues.ts";

/** See `AdminStore.configure`. */
export function configure(context: Context, name: string, settings: QueueSettings): Promise<boolean> {
  return context.commit.run(() => {
    if ("forget" in settings) return forget(context, name);
    if ("pause" in settings) pause(context, name, settings.pause, settings.group);
    else {
      const group = limitedGroup(settings);
      if (group === undefined) limit(context, name, settings.limit);
      else limitGroup(context, name, group, settings.limit);
    }
    return true;
  });
}

function pause(context: Context, name: string, forMs: boolean | number, group: string | undefined): void {
  const { sql, now } = context;
  const isResumed = forMs === false || forMs !== true && forMs <= 0;
  const until = isResumed ? undefined : forMs === true ? null : Math.round(now() + forMs);
  if (group !== undefined) pauseGroup(context, name, group, until);
  else if (until === undefined) sql("UPDATE queue SET paused = 0 WHERE name = ?").run(name);
  else sql("UPDATE queue SET paused = 1, paused_until = ? WHERE id = ?").run(until, idOf(context, name));
}

/** @param until null: the pause has no end; undefined: the group is resumed */
function pauseGroup(context: Context, name: string, group: string, until: number | null | undefined): void {
  const { sql } = context;
  const queue = idOf(context, name);
  forgetEndedPauses(context, queue);
  if (until === undefined) sql("DELETE FROM group_pause WHERE queue = ? AND name = ?").run(queue, group);
  else sql("INSERT OR REPLACE INTO group_pause VALUES (?, ?, ?)").run(queue, group, until);
  wake(context, queue, name, group);
}

function limit(context: Context, name: string, { running, starts }: QueueLimit): void {
  const { sql } = context;
  const queue = idOf(context, name);
  sql("UPDATE queue SET most_running = ?, most_starts = ?, starts_per = ? WHERE id = ?")
    .run(running ?? null, starts?.count ?? null, starts?.perMs ?? null, queue);
  if (starts === undefined) sql("DELETE FROM start WHERE queue = ?").run(queue);
}

/** Limits a group, or with the name "" each without a separate limit. */
function limitGroup(context: Context, name: string, group: string, limit: GroupLimit): void {
  const { sql, now } = context;
  const { running, starts, weight, forMs } = limit;
  const queue = idOf(context, name);
  // The running jobs of each group count from now on.
  if (!hasLimits(context, queue)) {
    sql(
      `UPDATE lease SET from_group = ${COUNTED}
       WHERE from_group = ${UNCOUNTED} AND (SELECT parent FROM queue WHERE id = lease.queue) = ?`,
    ).run(queue);
  }
  if (running === undefined && starts === undefined && weight === undefined) {
    sql("DELETE FROM group_limit WHERE queue = ? AND name = ?").run(queue, group);
  } else {
    sql("INSERT OR REPLACE INTO group_limit VALUES (?, ?, ?, ?, ?, ?, ?)").run(
      ...[queue, group, running ?? null, starts?.count ?? null, starts?.perMs ?? null, weight ?? null],
      forMs === undefined ? null : Math.round(now() + forMs),
    );
  }
  wake(context, queue, name, group);
}

/** Makes a held group ready, or with the name "" each of them. One that is full or paused is held again at its next turn. */
function wake({ sql }: Context, queue: number, name: string, group: string): void {
  sql(
    `UPDATE queue SET state = 1, due_at = NULL, tag = max(tag, (SELECT vtime FROM queue WHERE id = ?1))
     WHERE parent = ?1 AND state = 2 AND (?2 = '' OR name = ?3)`,
  ).run(queue, group, nameOf(name, group));
}

/** Forgets a queue. One with a leased job stays, because the lease names its row */
function forget(context: Context, name: string): boolean {
  const { sql, now } = context;
  const known = sql("SELECT id, vtime, tag FROM queue WHERE name = ? AND grouped = 0").get(name);
  if (known) {
    const { id, vtime, tag } = known as unknown as { id: number; vtime: number; tag: number };
    advance(context, id, { vtime, tag, grouped: 0, forget: Infinity });
    forgetEndedPauses(context, id);
  }
  return sql(
    `DELETE FROM queue WHERE name = ? AND parent IS NULL AND size = 0 AND (paused = 0 OR paused_until <= ?)
     AND most_running IS NULL AND most_starts IS NULL
     AND NOT EXISTS (SELECT 1 FROM lease WHERE lease.queue = queue.id)
     AND NOT EXISTS (SELECT 1 FROM queue AS one WHERE one.parent = queue.id)
     AND NOT EXISTS (SELECT 1 FROM group_limit WHERE group_limit.queue = queue.id)
     AND NOT EXISTS (SELECT 1 FROM group_pause WHERE group_pause.queue = queue.id)`,
  ).run(name, now()).changes > 0;
}

function forgetEndedPauses({ sql, now }: Context, queue: number): void {
  sql("DELETE FROM group_pause WHERE queue = ? AND until <= ?").run(queue, now());
}
