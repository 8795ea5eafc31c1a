/**
 * The queries by which the judges see a store in PostgreSQL. Each has one text of JSON, `state`.
 *
 * @module
 */
import { WRONG } from "../../support/postgres_stores.ts";
import { CONSISTENCY as SHARED, LEFTOVERS } from "../queries.ts";

const CONSISTENCY = { "each job is in one place, and counted": WRONG, ...SHARED };

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
const STATE = `SELECT json_build_object(
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

/** `next`, and the state if `next` isn't $1: it grows with each transaction that changes something. */
export const CHANGED_STATE = `SELECT next, CASE WHEN next <> $1 THEN (${STATE}) END AS state
  FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next OFFSET 0) AS moment`;

/** The state when everything has ended and all workers have stopped. */
export const LAST_STATE = `SELECT json_build_object(
  'left', ${violated(LEFTOVERS)},
  'signals', ${list("SELECT id, data FROM jobs.signal", "data::bigint", "id")},
  'records', ${
  list("SELECT number, text FROM jobs.log WHERE name = 'cron:tick'", "text::json", "number")
})::text AS state`;
