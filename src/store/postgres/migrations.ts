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
import { OTHER_SETTINGS } from "./settings.ts";
import { FUNCTIONS, INDEXES, SCHEMA_SQL, SEQUENCES, SIGNATURES, TABLES, VIEWS } from "./objects.ts";

/** PostgreSQL 14. */
const MIN_SERVER = 140_000;
/** The schema, then its changes in order, `schema/2.sql` first. `oldest` is the first version whose processes may use the result. */
const MIGRATIONS: readonly { readonly text: string; readonly oldest: number }[] = [{ text: SCHEMA_SQL, oldest: 1 }];
const VERSION = MIGRATIONS.length;
/** The number of this version's functions. Only functions of a higher number replace others. */
const FUNCTIONS_NUMBER = DIGESTS.length;
/** How long a migration waits for a lock before it is repeated. */
const LOCK_TIMEOUT = "200ms";
const MAX_NAMED = 3;

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
  await migrate(client);
  return { access: "all" };
}

/** Brings the schema to this version, in one transaction. Returns whether it had to. */
export async function migrate(client: Client, roles = false): Promise<boolean> {
  try {
    return await client.transaction("1 AS one", async (query) => {
      const version = await begin(client, (text) => query(text, []));
      if (version === undefined && !roles) return false;
      await query.script(scriptOf(client, version, roles));
      return true;
    });
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "denied") throw error;
    throw new StoreError("denied", await deniedText(client, error, roles), { cause: error });
  }
}

/** Returns what a user who couldn't change the schema lacks, and the statement that grants it. */
async function deniedText(client: Client, error: StoreError, roles: boolean): Promise<string> {
  const { schema, shown } = client.address;
  const [row] = await client.run(
    `SELECT current_user::text AS me, current_database()::text AS database, to_regnamespace('${schema}') IS NOT NULL AS has_schema,
       has_database_privilege(current_database(), 'CREATE') AS creates_schemas,
       (SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = '${schema}') AS creates_tables,
       EXISTS (SELECT FROM pg_class WHERE relname = 'meta' AND relnamespace = to_regnamespace('${schema}')) AS has_store,
       (SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user) AS creates_roles`,
  );
  const { me, database, has_schema, creates_schemas, creates_tables, has_store, creates_roles } = row!;
  if (has_schema !== true && creates_schemas !== true) {
    return `"${shown}" has no schema ${schema}, and user ${me} may not create it. As an administrator: ` +
      `CREATE SCHEMA ${schema} AUTHORIZATION "${me}", or GRANT CREATE ON DATABASE "${database}" TO "${me}"`;
  }
  if (has_store !== true && has_schema === true && creates_tables !== true) {
    return `"${shown}" has no store in schema ${schema}, where user ${me} may not create one: ` +
      `let its owner run jobs schema, or GRANT CREATE ON SCHEMA ${schema} TO "${me}"`;
  }
  if (roles && /create role/.test(error.message) && creates_roles !== true) {
    return `User ${me} of "${shown}" may not create roles: ALTER ROLE "${me}" CREATEROLE, or run jobs schema without --roles`;
  }
  const found = has_store === true ? "the store of another version" : "no store";
  return `"${shown}" has ${found} in schema ${schema}, which this user can't change: ` +
    "let its owner run jobs schema, or print the SQL: jobs schema --print";
}

/** Returns the statements that bring the schema to this version, for an administrator; undefined if it has it. */
export async function printed(client: Client, roles: boolean): Promise<string | undefined> {
  const { version, isUsable } = await inspect(client);
  if (isUsable && !roles) return undefined;
  const { schema } = client.address;
  if (version === undefined) await checkNames(client, (text) => client.run(text));
  return [
    `-- Brings schema ${schema} to version ${VERSION}. Run it as the owner of the schema: psql -v ON_ERROR_STOP=1 -f FILE`,
    "BEGIN;",
    `SELECT pg_advisory_xact_lock(hashtextextended('migrate:${schema}', 0));`,
    `SET LOCAL lock_timeout = '${LOCK_TIMEOUT}';`,
    scriptOf(client, isUsable ? undefined : version ?? 0, roles),
    "COMMIT;",
  ].join("\n");
}

type Ask = (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** Takes the lock of migrations. Returns the version from which to migrate; undefined if there is nothing to do. */
async function begin(
  client: Client,
  query: Ask,
): Promise<number | undefined> {
  const { schema } = client.address;
  await query(`SELECT pg_advisory_xact_lock(hashtextextended('migrate:${schema}', 0))`);
  await query(`SELECT set_config('lock_timeout', '${LOCK_TIMEOUT}', true)`);
  const [there] = await query(`SELECT ${findsMeta(schema)}`);
  if (!hasStore(client, there!)) {
    await checkNames(client, query);
    return 0;
  }
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
    // `IF NOT EXISTS` requires the privilege to create one, also if it exists.
    ...(version === 0
      ? [`DO $$ BEGIN IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA ${schema}; END IF; END $$;`]
      : []),
    `SELECT set_config('search_path', '${schema}, pg_temp', true);`,
    // Literals are checked when a function is created.
    "SET LOCAL standard_conforming_strings = on;",
    "SELECT set_config('plpgsql.extra_errors', 'none', true);",
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
    `SELECT pg_backend_pid() AS pid, current_user::text AS me, ${OTHER_SETTINGS} AS settings,
       current_setting('server_version_num')::integer AS version, current_setting('server_encoding') AS encoding,
       (SELECT min(bound) FROM (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user AND NOT rolsuper
         UNION ALL SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS one (bound) WHERE bound > 0) AS connections,
       ${findsMeta(schema)},
       has_table_privilege(to_regclass('${schema}.job'), 'INSERT') AS may_insert,
       has_function_privilege(to_regprocedure('${schema}.push_built(text)'), 'EXECUTE') AS may_push`,
  );
  client.correct(String(server.settings).split(",").filter((name) => name !== ""), String(server.me));
  if (server.connections !== null) client.fit(Number(server.connections));
  if (Number(server.version) < MIN_SERVER) {
    throw new StoreError("wrong", `PostgreSQL at "${shown}" is older than version 14; use a newer one`);
  }
  if (server.encoding !== "UTF8") {
    throw new StoreError("wrong", `The database at "${shown}" has the encoding ${server.encoding}; use one with UTF8`);
  }
  if (!hasStore(client, server)) return { access: "all", isUsable: false };
  const access = server.may_insert === true ? "all" : server.may_push === true ? "push" : "read";
  const [meta] = await client.run(`SELECT version, oldest, functions FROM ${schema}.meta`);
  return { access, version: Number(meta!.version), isUsable: isUsable(client, meta!) };
}

const COLUMNS_OF_META = 3;

/** Returns the columns that {@linkcode hasStore} reads. */
function findsMeta(schema: string): string {
  return `to_regclass('${schema}.meta') IS NOT NULL AS exists,
    (SELECT count(*)::integer FROM pg_attribute WHERE attrelid = to_regclass('${schema}.meta')
      AND attname IN ('version', 'oldest', 'functions') AND NOT attisdropped) AS columns`;
}

/** Returns whether the schema has a store. @throws {StoreError} if its table `meta` is another one */
function hasStore({ address: { schema, shown } }: Client, row: Readonly<Record<string, unknown>>): boolean {
  if (row.exists !== true) return false;
  if (Number(row.columns) === COLUMNS_OF_META) return true;
  throw new StoreError("wrong", foreign(shown, schema, 'table "meta"'));
}

function foreign(shown: string, schema: string, what: string): string {
  return `Schema ${schema} at "${shown}" has ${what} of another program: name a schema for the store, such as ?schema=jobs`;
}

/**
 * Checks that the schema has no objects of another program with the names of the store's: a function would be replaced, or be called
 * instead of the store's.
 *
 * @throws {StoreError} `wrong`, with the names
 */
async function checkNames(client: Client, query: Ask): Promise<void> {
  const { schema, shown } = client.address;
  const list = (names: readonly string[]) => `ANY ('{${names.join(",")}}'::name[])`;
  const relations = [...TABLES, ...VIEWS, ...SEQUENCES, ...INDEXES, ...TABLES.map((name) => `${name}_pkey`)];
  const functions = [...new Set(SIGNATURES.map((signature) => signature.split("(")[0]!))];
  const rows = await query(`WITH home AS (SELECT oid FROM pg_namespace WHERE nspname = '${schema}')
    SELECT CASE relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'view' WHEN 'S' THEN 'sequence' WHEN 'i' THEN 'index' ELSE 'table' END
        || ' "' || relname || '"' AS name
      FROM pg_class JOIN home ON relnamespace = home.oid WHERE relname = ${list(relations)}
    UNION ALL SELECT 'function ' || proname || '(' || pg_get_function_identity_arguments(pg_proc.oid) || ')'
      FROM pg_proc JOIN home ON pronamespace = home.oid WHERE proname = ${list(functions)}
    UNION ALL SELECT 'type "' || typname || '"'
      FROM pg_type JOIN home ON typnamespace = home.oid WHERE typrelid = 0 AND typname = ${list([...TABLES, ...VIEWS])}
    ORDER BY 1`);
  if (rows.length === 0) return;
  const more = rows.length > MAX_NAMED ? ` and ${rows.length - MAX_NAMED} more` : "";
  throw new StoreError(
    "wrong",
    foreign(shown, schema, rows.slice(0, MAX_NAMED).map(({ name }) => name).join(", ") + more),
  );
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
