/**
 * The rows of `queue` and `queued`: the jobs of queues and groups in their order.
 *
 * @module
 */
import { ASIDE_MARK } from "../../job/aside.ts";
import { splitName } from "../port/groups.ts";
import { type Body, type Engine, hold, query } from "./body.ts";

/** Returns the ID of a queue or a group, and creates its row if it has none. The row stays until the transaction ends. */
export function* idOf(name: string): Body<number> {
  yield hold("SELECT 1 FROM queue WHERE name = ?1 FOR KEY SHARE", [name]);
  const [known] = yield query("SELECT id FROM queue WHERE name = ?1", [name]);
  if (known !== undefined) return Number(known.id);
  const { queue, group } = splitName(name);
  const parent = group === undefined ? null : yield* idOf(queue);
  // Another transaction may have created it.
  const [created] = yield query(
    "INSERT INTO queue (name, parent, state) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id",
    [name, parent, group?.startsWith(ASIDE_MARK) ? 3 : 0],
  );
  return Number(created!.id);
}

/** Adds a job to a queue. Its number decides its position. */
export function* add({ grow }: Engine, queue: number, job: number): Body<void> {
  yield query("INSERT INTO queued (queue, job) VALUES (?1, ?2)", [queue, job]);
  yield* grow(queue, 1);
}

/** Removes a job from its queue. Returns false if it isn't there. */
export function* remove({ grow }: Engine, queue: string, job: number): Body<boolean> {
  const [removed] = yield query(
    "DELETE FROM queued WHERE queue = (SELECT id FROM queue WHERE name = ?1) AND job = ?2 RETURNING queue",
    [queue, job],
  );
  if (removed === undefined) return false;
  yield* grow(Number(removed.queue), -1);
  return true;
}

/** Changes the stored size of a queue. */
export function* grow(queue: number, by: number): Body<void> {
  yield query("UPDATE queue SET size = size + ?1 WHERE id = ?2", [by, queue]);
}
