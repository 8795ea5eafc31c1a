/** `jobs schema`. @module */
import { migrateSchema, printSchema } from "../../store/open_schema.ts";
import { hidePassword } from "../../store/port/hide_password.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { print, printError, printExactPart } from "../terminal/output.ts";
import { checkAddress, loadSettings, storeUrl } from "../shared/store.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs schema [--print] [--roles]

Creates the schema of a PostgreSQL store, or brings it to this version of jobs,
in one transaction. Run it as the owner of the schema: a worker with another
user starts only if the schema has its version, or a later one. Workers of the
version before continue meanwhile.

Options
      --print     print the SQL instead of running it; nothing if the schema is
                  up to date
      --roles     also create the roles SCHEMA_push, SCHEMA_work, SCHEMA_read
                  and SCHEMA_admin, and grant them what they need

Examples
  jobs schema --roles --store postgres://owner@db/app
  jobs schema --print --store postgres://me@db/app > jobs.sql`;

/** Migrates the schema of a store, or prints how. */
export async function run(argv: readonly string[]): Promise<number> {
  const { json: _json, ...common } = COMMON_FLAGS;
  const own = { print: { takes: "switch" }, roles: { takes: "switch" } } as const;
  const { flags } = parseCommand("schema", argv, { ...common, ...own }, "");
  const { settings } = await loadSettings(flags);
  const url = storeUrl(settings);
  checkAddress(url);
  const roles = flags.roles === true;
  if (flags.print) {
    const sql = await printSchema(url, { roles });
    if (sql === undefined) printError(`jobs: the schema of ${hidePassword(url)} is up to date`);
    else printExactPart(sql + "\n");
    return 0;
  }
  const changed = await migrateSchema(url, { roles });
  print(`The schema of ${hidePassword(url)} ${changed ? "has been migrated" : "is up to date"}`);
  return 0;
}
