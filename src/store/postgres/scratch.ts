/**
 * A temporary store in another schema of the same database, never in the store's. The comment of the schema is the bench's claim: a
 * later bench drops the schema of a killed one.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { Scratch, ScratchOptions } from "../open.ts";
import { CLAIM_MS, keepClaim } from "../ops/scratch_claim.ts";
import { StoreError } from "../port/errors.ts";
import { parseAddress } from "./address.ts";
import { Client } from "./client.ts";

const PREFIX = "jobs_bench_";
/** Begins the comment; the server's time in milliseconds follows. */
const CLAIM = "jobs bench, in use at ";
const WAIT_MS = 10_000;

/**
 * Creates a schema in the database at `url`. Drops it when disposed.
 *
 * @throws {StoreError} `denied` if this user may create none
 */
export async function postgresScratch(url: string, options: ScratchOptions): Promise<Scratch> {
  const { warn, clock = systemClock } = options;
  const address = parseAddress(url);
  const client = await Client.create(address, { waitMs: WAIT_MS });
  const schema = PREFIX + crypto.randomUUID().replaceAll("-", "").slice(0, 12);
  const run = (script: string) => client.transaction("1 AS one", (query) => query.script(script));
  try {
    await sweep(client);
    await run(`CREATE SCHEMA ${schema}; ${claimOf(schema)}`);
  } catch (error) {
    await client.close();
    if (!(error instanceof StoreError) || error.code !== "denied") throw error;
    const { user, database, shown } = address;
    throw new StoreError(
      "denied",
      `"${shown}" lets user ${user} create no schema to measure in: GRANT CREATE ON DATABASE ${database} TO ${user}`,
      { cause: error },
    );
  }
  const claim = keepClaim(() => run(claimOf(schema)), clock);
  return {
    url: withSchema(url, schema),
    async [Symbol.asyncDispose]() {
      await claim[Symbol.asyncDispose]();
      await run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`).catch(({ message }: Error) =>
        warn(`schema ${schema} of "${address.shown}" could not be dropped; a later bench does that: ${message}`)
      );
      await client.close();
    },
  };
}

/** Drops the schemas of this user's benches that have ended. */
async function sweep(client: Client): Promise<void> {
  const rows = await client.run(
    `SELECT nspname AS schema FROM pg_namespace
     WHERE nspname LIKE $1 AND pg_get_userbyid(nspowner) = current_user
       AND substring(obj_description(oid, 'pg_namespace') FROM $2)::bigint < extract(epoch FROM clock_timestamp()) * 1000 - $3`,
    [`${PREFIX.replaceAll("_", "\\_")}%`, `^${CLAIM}(\\d+)$`, CLAIM_MS],
  );
  for (const { schema } of rows) {
    await client.transaction("1 AS one", (query) => query.script(`DROP SCHEMA IF EXISTS ${schema} CASCADE`));
  }
}

/** Returns the statement that claims a schema from now on. */
function claimOf(schema: string): string {
  return `DO $$ BEGIN
    EXECUTE format('COMMENT ON SCHEMA ${schema} IS %L', '${CLAIM}' || (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  END $$`;
}

/** Replaces the schema of an address. */
function withSchema(url: string, schema: string): string {
  const [place, query] = url.split("?", 2);
  const parameters = new URLSearchParams(query);
  parameters.set("schema", schema);
  return `${place}?${parameters}`;
}
