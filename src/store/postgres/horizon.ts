/**
 * The horizon: PostgreSQL keeps each dead row until no transaction could still read it. Of a session in another database, only a
 * transaction that writes holds it.
 *
 * @module
 */
import type { HealthFinding } from "../admin/health.ts";
import type { Row } from "../sql/body.ts";
import type { Client } from "./client.ts";

/** Dead rows that are kept for this time slow down each take. */
export const MAX_HORIZON_AGE_MS = 60_000;
/** A replication slot has no time, nor has a session without its details. They count after this many transactions. */
const MAX_HORIZON_TRANSACTIONS = 100_000;
const QUERY_CHARS = 80;

/** A transaction or a replication slot that keeps dead rows. */
export interface Holder {
  /** Since when, in milliseconds; undefined if that isn't known. */
  readonly ageMs: number | undefined;
  readonly transactions: number;
  /** Names it, with the statement that ends it. */
  readonly finding: HealthFinding;
}

const READ = `SELECT * FROM (
  SELECT 'session' AS kind, pid::text AS name, nullif(application_name, '') AS application, state, backend_type AS type,
    extract(epoch FROM clock_timestamp() - state_change)::bigint AS since,
    left(regexp_replace(coalesce(query, ''), '[[:space:]]+', ' ', 'g'), ${QUERY_CHARS}) AS query,
    (extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint AS age,
    greatest(age(backend_xid), age(backend_xmin))::bigint AS transactions, true AS is_used
  FROM pg_stat_activity
  WHERE (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL AND (datname IS NULL OR datname = current_database()))
    AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
  UNION ALL
  SELECT 'prepared transaction', gid, NULL, NULL, NULL, NULL, NULL,
    (extract(epoch FROM clock_timestamp() - prepared) * 1000)::bigint, age(transaction)::bigint, true
  FROM pg_prepared_xacts
  UNION ALL
  SELECT 'replication slot', slot_name, NULL, NULL, NULL, NULL, NULL, NULL,
    greatest(age(xmin), age(catalog_xmin))::bigint, active
  FROM pg_replication_slots WHERE coalesce(xmin, catalog_xmin) IS NOT NULL
) AS held ORDER BY age DESC NULLS LAST, transactions DESC LIMIT 20`;

/** Returns what holds the horizon, the oldest first. */
export async function readHolders(client: Client): Promise<readonly Holder[]> {
  return (await client.run(READ)).map((row) => {
    const ageMs = row.age === null ? undefined : Math.max(0, Number(row.age));
    const transactions = Number(row.transactions);
    return { ageMs, transactions, finding: findingOf(row, ageMs, transactions) };
  });
}

/** Returns whether dead rows are kept for too long. */
export function isTooOld({ ageMs, transactions }: Holder, maxAgeMs: number): boolean {
  return ageMs === undefined ? transactions > MAX_HORIZON_TRANSACTIONS : ageMs > maxAgeMs;
}

function findingOf(row: Row, ageMs: number | undefined, transactions: number): HealthFinding {
  const span = ageMs === undefined ? `of ${transactions} transactions` : `for ${Math.round(ageMs / 1_000)} s`;
  return {
    message: `${nameOf(row)}: it has kept dead rows ${span}, which slows down each take`,
    cure: cureOf(row),
    isAlert: true,
  };
}

function nameOf({ kind, name, application, state, type, since, query, is_used: isUsed }: Row): string {
  if (kind !== "session") return `${kind} ${name}${isUsed === true ? "" : " without a reader"}`;
  if (type === "walsender") return `replica ${application ?? ""} (process ${name})`;
  if (state === null) return `session ${name} (the role pg_read_all_stats shows its statement)`;
  return `session ${name} (${application ?? "without a name"}, ${state} for ${since} s): ${query}`;
}

function cureOf({ kind, name, type }: Row): string {
  const quoted = `'${String(name).replaceAll("'", "''")}'`;
  if (kind === "replication slot") return `SELECT pg_drop_replication_slot(${quoted})`;
  if (kind === "prepared transaction") return `ROLLBACK PREPARED ${quoted}`;
  return type === "walsender"
    ? "end the long query on the replica, or set hot_standby_feedback = off there"
    : `SELECT pg_terminate_backend(${name})`;
}
