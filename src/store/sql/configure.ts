/**
 * Settings of queues and groups: pauses, limits. See `AdminStore.configure`.
 *
 * @module
 */
import { limitedGroup, type QueueSettings } from "../admin/admin.ts";
import { type GroupLimit, nameOf } from "../port/groups.ts";
import type { QueueLimit } from "../port/limits.ts";
import { type Body, type Dialect, lock, query } from "./body.ts";
import { advance } from "./group_rows.ts";
import { COUNTED, hasLimits, UNCOUNTED } from "./limits.ts";
import { idOf } from "./queue_rows.ts";

/** See `AdminStore.configure`. */
export function* configure(dialect: Dialect, name: string, settings: QueueSettings, now: number): Body<boolean> {
  yield lock(`queue:${name}`);
  if ("forget" in settings) return yield* forget(dialect, name, now);
  if ("pause" in settings) yield* pause(name, settings.pause, settings.group, now);
  else {
    const group = limitedGroup(settings);
    if (group === undefined) yield* limit(name, settings.limit);
    else yield* limitGroup(name, group, settings.limit, now);
  }
  return true;
}

function* pause(name: string, forMs: boolean | number, group: string | undefined, now: number): Body<void> {
  const isResumed = forMs === false || forMs !== true && forMs <= 0;
  const until = isResumed ? undefined : forMs === true ? null : Math.round(now + forMs);
  if (group !== undefined) yield* pauseGroup(name, group, until, now);
  else if (until === undefined) yield query("UPDATE queue SET paused = 0 WHERE name = ?1", [name]);
  else yield query("UPDATE queue SET paused = 1, paused_until = ?1 WHERE id = ?2", [until, yield* idOf(name)]);
}

/** @param until null: the pause has no end; undefined: the group is resumed */
function* pauseGroup(name: string, group: string, until: number | null | undefined, now: number): Body<void> {
  const queue = yield* idOf(name);
  yield* forgetEndedPauses(queue, now);
  if (until === undefined) yield query("DELETE FROM group_pause WHERE queue = ?1 AND name = ?2", [queue, group]);
  else {
    yield query(
      `INSERT INTO group_pause (queue, name, until) VALUES (?1, ?2, ?3)
       ON CONFLICT (queue, name) DO UPDATE SET until = excluded.until`,
      [queue, group, until],
    );
  }
  yield* wake(queue, name, group);
}

function* limit(name: string, { running, starts }: QueueLimit): Body<void> {
  const queue = yield* idOf(name);
  yield query("UPDATE queue SET most_running = ?1, most_starts = ?2, starts_per = ?3 WHERE id = ?4", [
    ...[running ?? null, starts?.count ?? null, starts?.perMs ?? null, queue],
  ]);
  if (starts === undefined) yield query("DELETE FROM start WHERE queue = ?1", [queue]);
}

/** Limits a group, or with the name "" each without a separate limit. */
function* limitGroup(name: string, group: string, limit: GroupLimit, now: number): Body<void> {
  const { running, starts, weight, forMs } = limit;
  const queue = yield* idOf(name);
  // The running jobs of each group count from now on.
  if (!(yield* hasLimits(queue))) {
    yield query(
      `UPDATE lease SET from_group = ${COUNTED}
       WHERE from_group = ${UNCOUNTED} AND (SELECT parent FROM queue WHERE id = lease.queue) = ?1`,
      [queue],
    );
  }
  if (running === undefined && starts === undefined && weight === undefined) {
    yield query("DELETE FROM group_limit WHERE queue = ?1 AND name = ?2", [queue, group]);
  } else {
    const until = forMs === undefined ? null : Math.round(now + forMs);
    yield query(
      `INSERT INTO group_limit (queue, name, most_running, most_starts, starts_per, weight, until)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
       ON CONFLICT (queue, name) DO UPDATE
         SET most_running = ?3, most_starts = ?4, starts_per = ?5, weight = ?6, until = ?7`,
      [queue, group, running ?? null, starts?.count ?? null, starts?.perMs ?? null, weight ?? null, until],
    );
  }
  yield* wake(queue, name, group);
}

/** Makes a held group ready, or with the name "" each of them. One that is full or paused is held again at its next turn. */
function* wake(queue: number, name: string, group: string): Body<void> {
  const [row] = yield query("SELECT vtime FROM queue WHERE id = ?1", [queue]);
  yield query(
    `UPDATE queue SET state = 1, due_at = NULL, tag = CASE WHEN tag < ?2 THEN ?2 ELSE tag END
     WHERE parent = ?1 AND state = 2 AND (?3 = 1 OR name = ?4)`,
    [queue, Number(row!.vtime), group === "" ? 1 : 0, nameOf(name, group)],
  );
}

/** Forgets a queue. One with a leased job stays, because the lease names its row */
function* forget(dialect: Dialect, name: string, now: number): Body<boolean> {
  const [known] = yield query(
    `SELECT id, vtime, tag FROM queue WHERE name = ?1 AND grouped = 0 ${dialect.skipLocked}`,
    [name],
  );
  if (known) {
    const { id, vtime, tag } = known as unknown as { id: number; vtime: number; tag: number };
    yield* advance(dialect, id, { vtime, tag, grouped: 0, forget: Infinity }, now);
    yield* forgetEndedPauses(id, now);
  }
  const forgotten = yield query(
    `DELETE FROM queue WHERE name = ?1 AND parent IS NULL AND size = 0 AND (paused = 0 OR paused_until <= ?2)
     AND most_running IS NULL AND most_starts IS NULL
     AND NOT EXISTS (SELECT 1 FROM lease WHERE lease.queue = queue.id)
     AND NOT EXISTS (SELECT 1 FROM queue AS one WHERE one.parent = queue.id)
     AND NOT EXISTS (SELECT 1 FROM group_limit WHERE group_limit.queue = queue.id)
     AND NOT EXISTS (SELECT 1 FROM group_pause WHERE group_pause.queue = queue.id)
     RETURNING 1`,
    [name, now],
  );
  return forgotten.length > 0;
}

function* forgetEndedPauses(queue: number, now: number): Body<void> {
  yield query("DELETE FROM group_pause WHERE queue = ?1 AND until <= ?2", [queue, now]);
}
