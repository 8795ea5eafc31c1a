/**
 * The health of the server, its dead rows, and what holds back their removal.
 *
 * @module
 */
import type { Health, HealthFinding } from "../admin/health.ts";
import type { Runner } from "./engine.ts";
import { isTooOld, MAX_HORIZON_AGE_MS, readHolders } from "./horizon.ts";
import { TABLES } from "./objects.ts";

/** Returns the statement. Tables with separate settings for autovacuum are those whose rows don't stay. */
function reading({ schema }: Runner): string {
  return `SELECT current_setting('server_version') AS version, current_setting('synchronous_commit') AS commits,
    current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
    current_setting('autovacuum') AS autovacuum, ${schema}.now_ms($1) AS now, (
      SELECT json_object_agg(counted.relname, n_dead_tup ORDER BY counted.relname)::text
      FROM pg_stat_user_tables AS counted JOIN pg_class ON oid = relid
      WHERE schemaname = $2 AND counted.relname = ANY ('{${
    TABLES.join(",")
  }}') AND reloptions::text LIKE '%autovacuum_vacuum_threshold%'
    ) AS dead`;
}

/** Autovacuum is late by this many dead rows: it should have begun at a tenth of them. */
const MAX_DEAD_ROWS = 200_000;
const MAX_HOLDERS = 3;

/**
 * See `HealthReader.health`.
 *
 * @param hears whether notifications arrive; undefined if that isn't known
 * @param maxAgeMs dead rows that are kept for longer are a finding
 */
export async function health(
  runner: Runner,
  hears: boolean | undefined,
  maxAgeMs: number = MAX_HORIZON_AGE_MS,
): Promise<Health> {
  const { client, schema } = runner;
  const [server] = await client.run(reading(runner), [runner.ahead, schema]);
  const { version, commits, fsync, pages, autovacuum, now, dead } = server!;
  const tables: Readonly<Record<string, number>> = JSON.parse(String(dead ?? "{}"));
  const holders = await readHolders(client);
  const held = holders.filter((holder) => isTooOld(holder, maxAgeMs)).slice(0, MAX_HOLDERS);
  return {
    version: `PostgreSQL ${String(version).split(" ")[0]}`,
    durability: fsync === "off" || pages === "off" ? "none" : commits === "off" ? "normal" : "full",
    now: Number(now),
    deadRows: {
      horizonAgeMs: Math.max(0, ...holders.map(({ ageMs = 0 }) => ageMs)),
      tables,
    },
    findings: [
      ...held.map(({ finding }) => finding),
      ...vacuumFindings(autovacuum, held.length > 0 ? {} : tables),
      ...(hears === false
        ? [{
          message: "notifications don't arrive, as behind a pooler: jobs start up to 1 s later",
          cure: "name a direct address of the server: ?listen=HOST:PORT",
        }]
        : []),
    ],
  };
}

/** Reports that autovacuum is off or late. A held horizon explains dead rows better. */
function vacuumFindings(autovacuum: unknown, tables: Readonly<Record<string, number>>): HealthFinding[] {
  if (autovacuum === "off") {
    return [{
      message: "autovacuum of PostgreSQL is off: dead rows slow down each take",
      cure: "ALTER SYSTEM SET autovacuum = on, then SELECT pg_reload_conf()",
      isAlert: true,
    }];
  }
  const late = Object.entries(tables).filter(([, dead]) => dead > MAX_DEAD_ROWS);
  if (late.length === 0) return [];
  const counts = late.map(([table, dead]) => `${table} has ${dead}`).join(", ");
  return [{
    message: `autovacuum of PostgreSQL is late: of dead rows, table ${counts}`,
    cure: "ALTER SYSTEM SET autovacuum_naptime = '10s', then SELECT pg_reload_conf()",
    isAlert: true,
  }];
}
