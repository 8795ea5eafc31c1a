/**
 * PostgreSQL databases of other people, in which a store must work as in an empty one.
 *
 * @module
 */
import type { PostgresServer } from "./postgres.ts";
import type { Surroundings } from "./postgres_stores.ts";

/** Settings under which literals, arrays, numbers and times have other texts than usual. */
export const ODD_SETTINGS: Readonly<Record<string, string>> = {
  standard_conforming_strings: "off",
  backslash_quote: "off",
  array_nulls: "off",
  bytea_output: "escape",
  extra_float_digits: "-15",
  DateStyle: "SQL, DMY",
  IntervalStyle: "sql_standard",
  TimeZone: "Asia/Kolkata",
  quote_all_identifiers: "on",
  transform_null_equals: "on",
  search_path: "public",
  "plpgsql.extra_errors": "all",
  client_min_messages: "debug1",
};

/** Returns the statement that gives a role a setting from the next session on. */
function roleSetting(role: string, name: string, value: string): string {
  return `ALTER ROLE ${role} SET ${name} = ${name === "search_path" ? value : `'${value}'`}`;
}

/** The databases, by what is special about them, on a server with `wal_level = logical`. */
export async function foreignDatabases(server: PostgresServer): Promise<Readonly<Record<string, Surroundings>>> {
  let roles = 0;
  /** Creates a user who owns a schema that an administrator has made, and returns its address. */
  const asUser = async (settings: Readonly<Record<string, string>>, parameters = ""): Promise<Surroundings> => {
    const role = `foreign_${roles++}`;
    await server.sql(`CREATE ROLE ${role} LOGIN`);
    for (const [name, value] of Object.entries(settings)) await server.sql(roleSetting(role, name, value));
    return {
      prepare: (database) => server.sql(`CREATE SCHEMA jobs AUTHORIZATION ${role}`, database),
      url: (database) => `${server.url(database).replace("postgres@", `${role}@`)}${parameters}`,
    };
  };
  return {
    "a publication for all tables": {
      prepare: (database) => server.sql("CREATE PUBLICATION everything FOR ALL TABLES", database),
    },
    "the schema of an application": {
      schema: "public",
      prepare: (database) =>
        server.sql(
          `CREATE TABLE orders (id serial PRIMARY KEY, total numeric);
           CREATE FUNCTION total(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';
           CREATE FUNCTION jsonb_build_object(integer) RETURNS jsonb LANGUAGE sql AS 'SELECT NULL::jsonb'`,
          database,
        ),
      url: (database) => `${server.url(database)}?schema=public`,
    },
    "an owner who may create no schema": await asUser({}),
    "odd settings of sessions": await asUser(ODD_SETTINGS),
    "SERIALIZABLE by default": await asUser({ default_transaction_isolation: "serializable" }),
    "REPEATABLE READ by default": await asUser({ default_transaction_isolation: "repeatable read" }),
    "timeouts of 5 s": await asUser({
      statement_timeout: "5s",
      idle_in_transaction_session_timeout: "5s",
      lock_timeout: "5s",
    }),
  };
}
