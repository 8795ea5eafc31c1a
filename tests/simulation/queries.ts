/**
 * The queries of the judges on the stores with SQL. SQLite has no schema, and no types.
 *
 * @module
 */
import { FOREIGN } from "./foreign.ts";
import { GROUP_LIMIT, NARROW } from "./jobs.ts";

/** Each finds what must not be, at any moment between two transactions. */
export const CONSISTENCY = {
  "a batch counts its members": `SELECT id, total, pending FROM jobs.batch
    WHERE total <> pending + dead + succeeded + failed + cancelled + expired + deleted OR pending < 0 OR waiting < 0 OR waiting > pending`,
  "limits hold": `SELECT name, count(*) AS leases FROM jobs.lease JOIN jobs.queue ON queue.id = lease.queue
    WHERE name = 'narrow' OR name LIKE 'grouped|%' GROUP BY name
    HAVING count(*) > CASE name WHEN 'narrow' THEN ${NARROW} ELSE ${GROUP_LIMIT} END`,
  "what another client wrote is kept": `SELECT jid, payload FROM jobs.job WHERE payload LIKE '%"foreign"%'
    AND length(payload) - length(replace(payload, '${FOREIGN}', '')) <> ${2 * FOREIGN.length}`,
  "a jid has one job": "SELECT jid FROM jobs.job WHERE jid IS NOT NULL GROUP BY jid HAVING count(*) > 1",
  "a lock has a job": `SELECT key, jid FROM jobs.unique_lock
    WHERE key NOT LIKE 'imported:%' AND jid NOT IN (SELECT jid FROM jobs.job WHERE jid IS NOT NULL)`,
};

/** Each finds what must not be when every job has ended and every worker has stopped. Dead jobs stay, with their steps. */
export const LEFTOVERS = {
  "a lease": "SELECT job FROM jobs.lease",
  "a lock": "SELECT key, jid FROM jobs.unique_lock WHERE key NOT LIKE 'imported:%'",
  "a worker": "SELECT id FROM jobs.worker",
  "a name of a worker": "SELECT name FROM jobs.worker_name",
  "a command": "SELECT id FROM jobs.command",
  "a debounced push": "SELECT key FROM jobs.debounce",
  "a pending effect of a flow": "SELECT flow, source FROM jobs.flow_pending",
  "a waiting node": `SELECT flow_node.flow, name, state FROM jobs.flow_node JOIN jobs.batch ON batch.id = flow_node.flow
    WHERE payload IS NOT NULL AND dead = 0`,
  "a pending member": "SELECT id, pending FROM jobs.batch WHERE pending <> waiting OR pending > 0 AND dead = 0",
  "a step": "SELECT jid, name FROM jobs.step WHERE jid NOT IN (SELECT jid FROM jobs.job)",
  "a wait": "SELECT jid, name FROM jobs.step_wait WHERE jid NOT IN (SELECT jid FROM jobs.job)",
  "a count of waits": `SELECT kind, count FROM jobs.step_waits WHERE count <> (SELECT count(*) FROM jobs.step
    WHERE record LIKE '{"state":"waiting"%' AND coalesce(record::json ->> 'kind', 'sleep') = kind)`,
  "a migration": "SELECT id FROM jobs.departure",
};

type Queries = Readonly<Record<string, string>>;

/** Returns queries as SQLite takes them. */
export function forSqlite(queries: Queries): Queries {
  const plain = (query: string) => query.replaceAll(/\bjobs\.|::json/g, "");
  return Object.fromEntries(Object.entries(queries).map(([what, query]) => [what, plain(query)]));
}
