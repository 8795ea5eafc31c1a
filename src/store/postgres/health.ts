/**
 * The health of the server, and what holds back the removal of dead rows.
 *
 * @module
 */
import type { Health, HealthFinding } from "../admin/health.ts";
import type { Row } from "../sql/body.ts";
import type { Runner } from "./engine.ts";

/** Dead rows that are kept for this time slow down each take. */
const MAX_HORIZON_AGE_MS = 60_000;
/** A replication slot has no time. It counts after this many transactions. */
const MAX_HORIZON_TRANSACTIONS = 100_000;

const READ = `SELECT current_setting('server_version') AS version, current_setting('synchronous_commit') AS commits,
  current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages`;

/** Sessions, prepared transactions and replication slots that hold the horizon, with their age or a number of transactions. */
const HORIZON = `SELECT * FROM (
  SELECT 'session ' || pid || ' (' || coalesce(nullif(application_name, ''), 'without a name') || ', ' || coalesce(state, '?') || '): '
      || left(regexp_replace(coalesce(query, ''), '\\s+', ' ', 'g'), 80) AS what,
    (extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint AS age, NULL::bigint AS transactions, 'end it, or: SELECT pg_terminate_backend(' || pid || ')' AS cure
  FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
  UNION ALL
  SELECT 'prepared transaction ' || gid, (extract(epoch FROM clock_timestamp() - prepared) * 1000)::bigint, NULL, 'COMMIT PREPARED or ROLLBACK PREPARED'
  FROM pg_prepared_xacts WHERE database = current_database()
  UNION ALL
  SELECT 'replication slot ' || slot_name || ' without a reader', NULL, age(coalesce(xmin, catalog_xmin))::bigint, 'SELECT pg_drop_replication_slot(''' || slot_name || ''')'
  FROM pg_replication_slots WHERE NOT active AND coalesce(xmin, catalog_xmin) IS NOT NULL
) AS held WHERE age > ${MAX_HORIZON_AGE_MS} OR transactions > ${MAX_HORIZON_TRANSACTIONS}
  ORDER BY age DESC NULLS LAST, transactions DESC LIMIT 3`;

/** See `HealthReader.health`. */
export async function health(runner: Runner, hears: boolean | undefined): Promise<Health> {
  const { client } = runner;
  const [server] = await client.run(READ);
  const { version, commits, fsync, pages } = server!;
  const held = await client.run(HORIZON);
  return {
    version: `PostgreSQL ${String(version).split(" ")[0]}`,
    durability: fsync === "off" || pages === "off" ? "none" : commits === "off" ? "normal" : "full",
    now: await runner.now(),
    findings: [
      ...held.map(horizonFinding),
      ...(hears === false
        ? [{
          message: "notifications don't arrive, as behind a pooler: jobs start up to 1 s later",
          cure: "name a direct address of the server: ?listen=HOST:PORT",
        }]
        : []),
    ],
  };
}

function horizonFinding({ what, age, transactions, cure }: Row): HealthFinding {
  const span = age === null ? `of ${transactions} transactions` : `for ${Math.round(Number(age) / 1000)} s`;
  return {
    message: `${what}: it has kept dead rows ${span}, which slows down each take`,
    cure: String(cure),
  };
}
