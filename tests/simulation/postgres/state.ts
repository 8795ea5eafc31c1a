/**
 * The queries by which the judges see a store in PostgreSQL. Each returns one text of JSON, `state`.
 *
 * @module
 */
import { WRONG } from "../../support/postgres_stores.ts";
import { GROUP_LIMIT, NARROW } from "../jobs.ts";

/** Each finds what must not be, at any moment between two transactions. */
const CONSISTENCY = {
  "each job is in one place, and counted": WRONG,
  "a batch counts its members": `SELECT id, total, pending FROM jobs.batch
    WHERE total <> pending + dead + succeeded + failed + cancelled + expired + deleted OR pending < 0 OR waiting < 0 OR waiting > pending`,
  "limits hold": `SELECT name, count(*) AS leases FROM jobs.lease JOIN jobs.queue_row ON queue_row.id = lease.queue
    WHERE name = 'narrow' OR name LIKE 'grouped|%' GROUP BY name
    HAVING count(*) > CASE name WHEN 'narrow' THEN ${NARROW} ELSE ${GROUP_LIMIT} END`,
  "a lock has a job": `SELECT key, jid FROM jobs.unique_lock
    WHERE key NOT LIKE 'imported:%' AND jid NOT IN (SELECT jid FROM jobs.job WHERE jid IS NOT NULL)`,
};

/** Each finds what must not be when every job has ended and every worker has stopped. Dead jobs stay, with their steps. */
const LEFTOVERS = {
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

/** Returns an expression: an array with a line for each query that has rows, with its first row. */
function violated(queries: Readonly<Record<string, string>>): string {
  const lines = Object.entries(queries).map(([what, query]) =>
    `SELECT '${what}: ' || row_to_json(one)::text AS line FROM (SELECT * FROM (${query}) AS all_of LIMIT 1) AS one`
  );
  return list(lines.join(" UNION ALL "), "line");
}

/** Returns an expression: an array of a query's rows. */
function list(query: string, element: string, order = "1"): string {
  return `(SELECT coalesce(json_agg(${element} ORDER BY ${order}), '[]') FROM (${query}) AS rows)`;
}

/** The state at this moment. A flow whose node is dead stops there, until an operator retries it. */
export const STATE = `SELECT json_build_object(
  'jobs', ${
  list(
    "SELECT * FROM jobs.entry",
    `json_strip_nulls(json_build_object('jid', jid, 'place', place, 'worker', worker,
      'isCron', payload::json ->> 'occurrence' IS NOT NULL))`,
    "id",
  )
},
  'workers', ${list("SELECT id FROM jobs.worker", "id", "id")},
  'batches', ${
  list(
    "SELECT * FROM jobs.batch",
    `json_build_object('id', id, 'isFlow', coalesce(flow = 1, false), 'isEnded',
      coalesce(complete_at, abandoned_at) IS NOT NULL OR coalesce(flow = 1 AND dead > 0 AND pending = waiting, false))`,
    "created, id",
  )
},
  'wrong', ${violated(CONSISTENCY)})::text AS state`;

/** The state when everything has ended and all workers have stopped. */
export const LAST_STATE = `SELECT json_build_object(
  'left', ${violated(LEFTOVERS)},
  'signals', ${list("SELECT id, data FROM jobs.signal", "data::bigint", "id")},
  'records', ${
  list("SELECT number, text FROM jobs.log WHERE name = 'cron:tick'", "text::json", "number")
})::text AS state`;
