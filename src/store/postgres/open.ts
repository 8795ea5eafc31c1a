/**
 * Opens a store in a PostgreSQL database, and creates or migrates its schema.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { Store } from "../admin/store.ts";
import type { StoreOptions } from "../open.ts";
import { StoreError } from "../port/errors.ts";
import { parseAddress } from "./address.ts";
import { Client } from "./client.ts";
import { Runner } from "./engine.ts";
import functionsText from "./functions.sql" with { type: "text" };
import schemaText from "./schema.sql" with { type: "text" };
import { postgresStore } from "./store.ts";

const DEFAULT_WAIT_MS = 10_000;
const DEFAULT_DEAD_MAX_JOBS = 10_000;
const DEFAULT_DEAD_MAX_AGE_MS = 180 * 24 * 3_600_000;
/** PostgreSQL 14. */
const MIN_VERSION = 140_000;
/** The schema, then its changes in order, `schema/2.sql` first. */
const MIGRATIONS: readonly string[] = [schemaText];

/**
 * Opens the store. Creates its schema if it doesn't exist, unless `create` is false.
 *
 * @throws {StoreError} if it can't be reached, or isn't a store
 */
export async function openPostgres(url: string, options: StoreOptions): Promise<Store> {
  const { waitMs = DEFAULT_WAIT_MS, log, clock = systemClock } = options;
  const client = await Client.create(parseAddress(url), { waitMs, log });
  try {
    await prepare(client, options.create ?? true);
  } catch (error) {
    await client.close();
    throw error;
  }
  return postgresStore(new Runner(client, clock), {
    wire: options.sidekiqWire ?? 7,
    deadMaxJobs: options.deadMaxJobs ?? DEFAULT_DEAD_MAX_JOBS,
    deadMaxAgeMs: options.deadMaxAgeMs ?? DEFAULT_DEAD_MAX_AGE_MS,
    log: (message) => log?.("warn", message),
  });
}

/** Checks the server, and brings the schema to this version. */
async function prepare(client: Client, create: boolean): Promise<void> {
  const { schema, shown } = client.address;
  const digest = await digestOf(functionsText);
  const [server] = await client.run(
    `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_encoding') AS encoding,
       to_regclass('${schema}.meta') IS NOT NULL AS exists, to_regnamespace('${schema}') IS NOT NULL AS named`,
  );
  if (Number(server!.version) < MIN_VERSION) {
    throw new StoreError("wrong", `PostgreSQL at "${shown}" is older than version 14; use a newer one`);
  }
  if (server!.encoding !== "UTF8") {
    throw new StoreError("wrong", `The database at "${shown}" has the encoding ${server!.encoding}; use one with UTF8`);
  }
  if (server!.exists === true) {
    const [meta] = await client.run(`SELECT version, functions FROM ${schema}.meta`);
    if (meta !== undefined) {
      if (Number(meta.version) > MIGRATIONS.length) throw newer(client, Number(meta.version));
      if (Number(meta.version) === MIGRATIONS.length && meta.functions === digest) return;
    }
  } else if (!create) {
    throw new StoreError(
      "missing",
      `No store at "${shown}" (schema ${schema}); use the address of an existing store, or let jobs run or jobs push create it`,
    );
  }
  await migrate(client, digest);
}

/** Migrates in one transaction. One process does it, the others wait. */
async function migrate(client: Client, digest: string): Promise<void> {
  const { schema } = client.address;
  await client.transaction("1 AS one", async (query) => {
    await query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`migrate:${schema}`]);
    await query("SELECT set_config('lock_timeout', '5s', true)", []);
    const [there] = await query(`SELECT to_regclass('${schema}.meta') IS NOT NULL AS exists`, []);
    let version = 0;
    if (there!.exists === true) {
      const [meta] = await query(`SELECT version, functions FROM ${schema}.meta`, []);
      version = Number(meta!.version);
      if (version > MIGRATIONS.length) throw newer(client, version);
      // Another process has done it.
      if (version === MIGRATIONS.length && meta!.functions === digest) return;
    } else {
      await query(`CREATE SCHEMA IF NOT EXISTS ${schema}`, []);
    }
    await query(`SELECT set_config('search_path', $1, true)`, [`${schema}, pg_temp`]);
    for (const text of [...MIGRATIONS.slice(version), functionsText]) await query.script(text);
    await query("UPDATE meta SET version = $1, functions = $2", [MIGRATIONS.length, digest]);
  });
}

function newer(client: Client, version: number): StoreError {
  return new StoreError(
    "newer",
    `Store "${client.address.shown}" was made by a newer version of jobs (schema ${version}, this version supports ${MIGRATIONS.length}); use that version`,
  );
}

async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex().slice(0, 16);
}
