/**
 * The schema of a PostgreSQL store, for its owner and for administrators.
 *
 * @module
 */
import { StoreError } from "./port/errors.ts";
import { hidePassword } from "./port/hide_password.ts";

/** Options of both functions. */
export interface SchemaOptions {
  /** Also creates the roles of the schema, which takes the privilege to create roles. */
  readonly roles: boolean;
}

/**
 * Brings the schema of the store at `url` to this version. Creates it if it doesn't exist.
 *
 * @returns whether it had to
 * @throws {StoreError} if the store isn't in PostgreSQL, or the user isn't the owner
 */
export async function migrateSchema(url: string, { roles }: SchemaOptions): Promise<boolean> {
  return await withSchema(url, ({ migrate }, client) => migrate(client, roles));
}

/**
 * Returns the SQL that brings the schema to this version; undefined if it has it.
 *
 * @throws {StoreError} if the store isn't in PostgreSQL
 */
export async function printSchema(url: string, { roles }: SchemaOptions): Promise<string | undefined> {
  return await withSchema(url, ({ printed }, client) => printed(client, roles));
}

type Migrations = typeof import("./postgres/migrations.ts");

async function withSchema<T>(
  url: string,
  use: (migrations: Migrations, client: Parameters<Migrations["migrate"]>[0]) => Promise<T>,
): Promise<T> {
  if (!/^postgres(ql)?:/.test(url)) {
    throw new StoreError("wrong", `Store "${hidePassword(url)}" has no schema: expected postgres://HOST/DATABASE`);
  }
  const [{ Client }, { parseAddress }, migrations] = await Promise.all([
    import("./postgres/client.ts"),
    import("./postgres/address.ts"),
    import("./postgres/migrations.ts"),
  ]);
  const client = await Client.create(parseAddress(url), { waitMs: 10_000 });
  try {
    return await use(migrations, client);
  } finally {
    await client.close();
  }
}
