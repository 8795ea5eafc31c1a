/**
 * The schema of a store, and its versions.
 *
 *  1. A migration is one transaction. One process makes it, under a lock; the others wait.
 *  2. A process also uses a schema of a later version, unless a migration since then says otherwise. It leaves such a schema as it is.
 *     So it does with functions of a higher number: the processes of two versions run side by side during a deployment.
 *  3. Functions keep their names and parameters as long as a version that calls them may use the schema.
 *  4. Replacing the functions locks no table. A migration that locks one waits for a moment only: all that comes after it would wait, too.
 *
 * @module
 */
import { StoreError } from "../port/errors.ts";
import type { Client } from "./client.ts";
import { DIGESTS } from "./functions_number.ts";
import enqueueText from "./enqueue.sql" with { type: "text" };
import functionsText from "./functions.sql" with { type: "text" };
import pushText from "./push.sql" with { type: "text" };
import optionsText from "./push_options.sql" with { type: "text" };
import rolesText from "./roles.sql" with { type: "text" };
import schemaText from "./schema.sql" with { type: "text" };

/** PostgreSQL 14. */
const MIN_SERVER = 140_000;
/** The schema, then its changes in order, `schema/2.sql` first. `oldest` is the first version whose processes may use the result. */
const MIGRATIONS: readonly { readonly text: string; readonly oldest: number }[] = [{ text: schemaText, oldest: 1 }];
const VERSION = MIGRATIONS.length;
/** The text of all functions. */
export const FUNCTIONS = [functionsText, enqueueText, optionsText, pushText, rolesText].join("\n");
/** The number of this version's functions. Only functions of a higher number replace others. */
const FUNCTIONS_NUMBER = DIGESTS.length;
/** How long a migration waits for a lock before it is repeated. */
const LOCK_TIMEOUT = "200ms";

/** The roles of a schema, without its name. */
export const ROLES = ["push", "work", "read", "admin"] as const;

/** The rights of a user in the schema. */
export interface Access {
  /** `push`: it only pushes, by the functions for that. `read`: it only reads. */
  readonly access: "push" | "read" | "all";
}

/** Checks the server, and brings the schema to this version. */
export async function prepare(client: Client, create: boolean): Promise<Access> {
  const { schema, shown } = client.address;
  const server = await inspect(client);
  if (server.version === undefined && !create) {
    throw new StoreError(
      "missing",
      `No store at "${shown}" (schema ${schema}); use the address of an existing store, or let jobs run or jobs push create it`,
    );
  }
  if (server.isUsable) return server;
  try {
    await migrate(client);
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "denied") throw error;
    const found = server.version === undefined ? "no store" : "the store of another version";
    const cure = "let its owner run jobs schema, or print the SQL: jobs schema --print";
    throw new StoreError(
      "denied",
      `"${shown}" has ${found} in schema ${schema}, which this user can't change: ${cure}`,
      {
        cause: error,
      },
    );
  }
  return { access: "all" };
}

/** Brings the schema to this version, in one transaction. Returns whether it had to. */
export async function migrate(client: Client, roles = false): Promise<boolean> {
  return await client.transaction("1 AS one", async (query) => {
    const version = await begin(client, (text) => query(text, []));
    if (version === undefined && !roles) return false;
    await query.script(scriptOf(client, version, roles));
    return true;
  });
}

/** Returns the statements that bring the schema to this version, for an administrator; undefined if it has it. */
export async function printed(client: Client, roles: boolean): Promise<string | undefined> {
  const { version, isUsable } = await inspect(client);
  if (isUsable && !roles) return undefined;
  const { schema } = client.address;
  return [
    `-- Brings schema ${schema} to version ${VERSION}. Run it as the owner of the schema: psql -v ON_ERROR_STOP=1 -f FILE`,
    "BEGIN;",
    `SELECT pg_advisory_xact_lock(hashtextextended('migrate:${schema}', 0));`,
    `SET LOCAL lock_timeout = '${LOCK_TIMEOUT}';`,
    scriptOf(client, isUsable ? undefined : version ?? 0, roles),
    "COMMIT;",
  ].join("\n");
}

/** Takes the lock of migrations. Returns the version from which to migrate; undefined if there is nothing to do. */
async function begin(
  client: Client,
  query: (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>,
): Promise<number | undefined> {
  const { schema } = client.address;
  await query(`SELECT pg_advisory_xact_lock(hashtextextended('migrate:${schema}', 0))`);
  await query(`SELECT set_config('lock_timeout', '${LOCK_TIMEOUT}', true)`);
  const [there] = await query(`SELECT to_regclass('${schema}.meta') IS NOT NULL AS exists`);
  if (there!.exists !== true) return 0;
  const [meta] = await query(`SELECT version, oldest, functions FROM ${schema}.meta`);
  // Another process may have done it.
  if (isUsable(client, meta!)) return undefined;
  return Number(meta!.version);
}

/** Returns the statements after {@linkcode begin}: those of migrations from a version on, and those that create the roles. */
function scriptOf(client: Client, version: number | undefined, roles: boolean): string {
  const { schema } = client.address;
  const create = ROLES.map((role) =>
    `IF to_regrole('${schema}_${role}') IS NULL THEN CREATE ROLE ${schema}_${role} NOLOGIN; END IF;`
  );
  const { oldest } = MIGRATIONS.at(-1)!;
  return [
    ...(roles ? [`DO $$ BEGIN ${create.join(" ")} END $$;`] : []),
    ...(version === 0 ? [`CREATE SCHEMA IF NOT EXISTS ${schema};`] : []),
    `SELECT set_config('search_path', '${schema}, pg_temp', true);`,
    ...(version === undefined ? ["SELECT grant_roles();"] : [
      ...MIGRATIONS.slice(version).map(({ text }) => text),
      FUNCTIONS,
      `UPDATE meta SET version = ${VERSION}, oldest = ${oldest}, functions = ${FUNCTIONS_NUMBER};`,
    ]),
  ].join("\n");
}

/** Reads the versions of the server and of the schema. @throws {StoreError} if it isn't usable for a store */
async function inspect(client: Client): Promise<Access & { readonly version?: number; readonly isUsable: boolean }> {
  const { schema, shown } = client.address;
  const server = await client.meet(
    `SELECT pg_backend_pid() AS pid, current_setting('server_version_num')::integer AS version, current_setting('server_encoding') AS encoding,
       to_regclass('${schema}.meta') IS NOT NULL AS exists,
       has_table_privilege(to_regclass('${schema}.job'), 'INSERT') AS may_insert,
       has_function_privilege(to_regprocedure('${schema}.push_built(text)'), 'EXECUTE') AS may_push`,
  );
  if (Number(server.version) < MIN_SERVER) {
    throw new StoreError("wrong", `PostgreSQL at "${shown}" is older than version 14; use a newer one`);
  }
  if (server.encoding !== "UTF8") {
    throw new StoreError("wrong", `The database at "${shown}" has the encoding ${server.encoding}; use one with UTF8`);
  }
  if (server.exists !== true) return { access: "all", isUsable: false };
  const access = server.may_insert === true ? "all" : server.may_push === true ? "push" : "read";
  const [meta] = await client.run(`SELECT version, oldest, functions FROM ${schema}.meta`);
  return { access, version: Number(meta!.version), isUsable: isUsable(client, meta!) };
}

/** Returns whether this version uses a schema as it is. @throws {StoreError} if it can't use it */
function isUsable(
  { address: { shown } }: Client,
  meta: Readonly<Record<string, unknown>>,
): boolean {
  const version = Number(meta.version);
  if (version <= VERSION) return version === VERSION && Number(meta.functions) >= FUNCTIONS_NUMBER;
  if (Number(meta.oldest) <= VERSION) return true;
  throw new StoreError(
    "newer",
    `Store "${shown}" was made by a newer version of jobs (schema ${version}, this version supports ${VERSION}); use that version`,
  );
}
