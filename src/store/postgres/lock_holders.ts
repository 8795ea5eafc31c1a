/**
 * Sessions that hold up others: a transaction locks what it has changed until it ends, and one of an application may stay open.
 *
 * @module
 */
import type { HealthFinding } from "../admin/health.ts";
import type { Runner } from "./engine.ts";

/** A transaction of an application that is older is a finding, also if nothing waits for it at this moment. */
const MAX_AGE_MS = 10_000;
const MAX_HOLDERS = 3;
const QUERY_CHARS = 80;

/**
 * Reads the catalog alone, which no lock on a table of the store holds up. A role without `pg_read_all_stats` learns neither age nor
 * statement of other roles' sessions.
 */
const READ = `WITH held AS (
    SELECT pid, array_agg(DISTINCT relname::text ORDER BY relname::text) AS tables, bool_or(mode = 'AccessExclusiveLock') AS is_exclusive
    FROM pg_locks JOIN pg_class ON pg_class.oid = relation
    WHERE granted AND locktype = 'relation' AND mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock') AND relkind = 'r'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
    GROUP BY pid),
  blocking AS (
    SELECT blocker AS pid, count(*) AS waiting
    FROM pg_stat_activity CROSS JOIN LATERAL unnest(pg_blocking_pids(pid)) AS blocker
    WHERE wait_event_type = 'Lock' AND datname = current_database() GROUP BY 1)
  SELECT pid, tables, is_exclusive, coalesce(waiting, 0) AS waiting, usename, nullif(application_name, '') AS application, state,
    (extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint AS age,
    left(regexp_replace(coalesce(query, ''), '\\s+', ' ', 'g'), ${QUERY_CHARS}) AS query
  FROM held LEFT JOIN blocking USING (pid) LEFT JOIN pg_stat_activity USING (pid)
  WHERE pid <> pg_backend_pid() AND wait_event_type IS DISTINCT FROM 'Lock' AND backend_type IS DISTINCT FROM 'autovacuum worker'
    AND (xact_start IS NULL OR xact_start < clock_timestamp() - $2::bigint * interval '1 ms' OR waiting > 0 OR is_exclusive)
  ORDER BY waiting IS NULL, is_exclusive DESC, xact_start NULLS LAST LIMIT ${MAX_HOLDERS}`;

/** Returns the sessions whose open transactions hold rows or tables of the store: those first for which others wait. */
export async function readHoldersOfLocks(
  { client, schema }: Runner,
  minAgeMs: number = MAX_AGE_MS,
): Promise<HealthFinding[]> {
  return (await client.run(READ, [schema, minAgeMs])).map((row) => {
    const { pid, tables, is_exclusive: isExclusive, waiting, usename, application, state, age, query } = row;
    const who = [usename, application].filter((name) => name !== null).join(", ");
    const since = age === null ? "" : ` for ${(Math.max(0, Number(age)) / 1_000).toFixed(0)} s`;
    const last = state === null
      ? "the role pg_read_all_stats shows its statement"
      : `${state}, latest statement: ${query}`;
    const held = isExclusive === true ? "a lock on" : "rows of";
    const others = Number(waiting) === 0 ? "" : `; ${waiting} waiting`;
    return {
      message: `session ${pid} (${who}) has held ${held} ${namesIn(tables)} in a transaction${since}${others}; ${last}`,
      cure: `end its transaction: SELECT pg_terminate_backend(${pid})`,
      isAlert: true,
      ...((isExclusive === true || Number(waiting) > 0) && { isStall: true }),
      ...(isExclusive === true && { blocksReads: true }),
    } as const;
  });
}

/** Returns the names in an array, which the driver doesn't parse: `{batch,job}`. */
function namesIn(names: unknown): string {
  return (Array.isArray(names) ? names : String(names).replace(/^\{|\}$/g, "").split(",")).join(", ");
}
