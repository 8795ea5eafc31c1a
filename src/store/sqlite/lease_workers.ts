/**
 * The numbers by which leases name their workers.
 *
 * @module
 */
import type { Context } from "./context.ts";

/** Returns the number of a worker. A new one gets it here, and those that are gone lose theirs; inside a transaction. */
export function numberOf({ sql }: Context, worker: string): number {
  const known = sql("SELECT id FROM lease_worker WHERE worker = ?").get(worker);
  if (known !== undefined) return Number(known.id);
  sql(
    `DELETE FROM lease_worker
     WHERE worker NOT IN (SELECT id FROM worker) AND id NOT IN (SELECT worker_id FROM lease)`,
  ).run();
  return Number(sql("INSERT INTO lease_worker (worker) VALUES (?)").run(worker).lastInsertRowid);
}
