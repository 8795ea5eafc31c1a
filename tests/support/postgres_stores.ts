/**
 * Empty stores on a PostgreSQL cluster, for the contract.
 *
 * @module
 */
import postgres from "postgres";
import { type Clock, systemClock } from "../../src/clock.ts";
import { batchIn } from "../../src/job/batch.ts";
import { getField } from "../../src/job/raw.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { openStore, type StoreOptions } from "../../src/store/open.ts";
import { parseAddress } from "../../src/store/postgres/address.ts";
import { Client } from "../../src/store/postgres/client.ts";
import { prepare } from "../../src/store/postgres/migrations.ts";
import { storeOn } from "../../src/store/postgres/open.ts";
import { TABLES } from "../../src/store/postgres/objects.ts";
import type { Row } from "../../src/store/sql/body.ts";
import type { OpenTestStore, TestOptions, TestStore } from "../store_contract/harness.ts";
import type { PostgresServer } from "./postgres.ts";
import { sharedClient } from "./shared_client.ts";

/** Returns no rows if each job is in one place, and the counts are right. */
export const WRONG =
  `WITH place AS (SELECT job FROM jobs.queued UNION ALL SELECT job FROM jobs.lease UNION ALL SELECT job FROM jobs.member)
  SELECT 'no place' AS what, id::text FROM jobs.job WHERE id NOT IN (SELECT job FROM place)
  UNION ALL SELECT 'no job', job::text FROM place WHERE job NOT IN (SELECT id FROM jobs.job)
  UNION ALL SELECT 'many places', job::text FROM place GROUP BY job HAVING count(*) > 1
  UNION ALL SELECT 'no worker', job::text FROM jobs.lease WHERE worker_id NOT IN (SELECT id FROM jobs.lease_worker)
  UNION ALL SELECT 'no queue', job::text FROM jobs.queued WHERE queue NOT IN (SELECT id FROM jobs.queue_row)
  UNION ALL SELECT 'size of ' || place, size::text FROM jobs.set_size
    WHERE size <> (SELECT count(*) FROM jobs.member WHERE member.place = set_size.place)
  UNION ALL SELECT 'size of queue ' || name, size::text FROM jobs.queue
    LEFT JOIN (SELECT queue, count(*) FROM jobs.queued GROUP BY queue) AS real ON real.queue = queue.id
    WHERE size <> coalesce(real.count, 0)
  UNION ALL SELECT 'grouped of queue ' || name, grouped::text FROM jobs.queue
    LEFT JOIN (SELECT parent, sum(size) FROM jobs.queue GROUP BY parent) AS groups ON groups.parent = queue.id
    WHERE grouped <> coalesce(groups.sum, 0)`;

/** Rows of a table beyond this number are removed with TRUNCATE, which costs more but leaves no dead rows. */
const MAX_DELETED = 200;
const KEPT = ["meta", "once_sweep", "cron_counter"];

/**
 * Creates a function that empties the tables: a new database for each case would take a second. Its plans are kept, and rows are
 * deleted, because each TRUNCATE makes all connections read the catalog again.
 */
export async function createEmpty(
  run: (text: string) => PromiseLike<readonly Row[]>,
  schema = "jobs",
): Promise<void> {
  const steps = TABLES.filter((name) => !KEPT.includes(name)).map((name) =>
    `DELETE FROM ${schema}.${name}; GET DIAGNOSTICS gone = ROW_COUNT;
     IF gone > ${MAX_DELETED} THEN TRUNCATE ${schema}.${name}; END IF;`
  );
  await run(
    `CREATE FUNCTION public.empty_jobs() RETURNS void LANGUAGE plpgsql SET session_replication_role = replica AS $$
    DECLARE gone bigint;
    BEGIN
      ${steps.join("\n")}
      UPDATE ${schema}.once_sweep SET key = '' WHERE key <> '';
      UPDATE ${schema}.cron_counter SET version = 0, changes = 0, entries = 0, latest = 0 WHERE version <> 0 OR changes <> 0;
    END $$`,
  );
}

/** Returns the names of the tables with a text. */
const TABLES_WITH = `CREATE OR REPLACE FUNCTION pg_temp.holding(wanted text) RETURNS SETOF text LANGUAGE plpgsql AS $$
  DECLARE name text; has boolean;
  BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'jobs' ORDER BY 1 LOOP
      EXECUTE format('SELECT EXISTS (SELECT 1 FROM jobs.%I AS t WHERE position(%L IN t::text) > 0)', name, wanted) INTO has;
      IF has THEN RETURN NEXT name; END IF;
    END LOOP;
  END $$; SELECT pg_temp.holding(`;

/** Writes a payload as it is, without our client. */
export async function pushRawTo(
  run: (text: string, values: readonly (string | null)[]) => PromiseLike<unknown>,
  queue: string,
  payload: string,
): Promise<void> {
  const jid = getField(payload, "jid");
  await run(
    `SELECT jobs.store_jobs(jobs.now_ms(0), 7, ARRAY[$1::text], ARRAY[$2::text], ARRAY[$3::text], NULL, NULL, ARRAY[$4::text], NULL, NULL)`,
    [queue, typeof jid === "string" ? jid : null, payload, batchIn(payload) ?? null],
  );
}

/** A database with an empty store, when no test uses it. */
interface Database {
  readonly url: string;
  readonly sql: ReturnType<typeof postgres>;
  /** Those of earlier stores; undefined if each store connects by itself. */
  readonly clients: Client[] | undefined;
  readonly schema: string;
}

/** A database that isn't as the store would have it. */
export interface Surroundings {
  /** Prepares an empty database. */
  readonly prepare?: (database: string) => Promise<unknown>;
  /** Returns the address of the store. */
  readonly url?: (database: string) => string;
  readonly schema?: string;
}

/**
 * Returns what opens an empty store on a server: each has a database by itself until it is closed.
 *
 * @param options.keepsConnections a store continues with the connections of the one before it, as behind a pooler. A new connection reads the
 *   catalog, compiles each function and plans each statement that it runs, which takes longer than most cases.
 */
export function emptyPostgresStores(
  server: PostgresServer,
  { keepsConnections = false, prepare, url: addressOf = server.url, schema = "jobs" }: Surroundings & {
    readonly keepsConnections?: boolean;
  } = {},
): { readonly open: OpenTestStore; readonly close: () => Promise<void> } {
  const all: Database[] = [];
  const free: Database[] = [];
  const create = async (): Promise<Database> => {
    const name = await server.create();
    await prepare?.(name);
    const url = addressOf(name);
    await (await openStore(url))[Symbol.asyncDispose]();
    const path = `${server.dir}/.s.PGSQL.${server.port}`;
    const options = { path, username: "postgres", database: name, max: 1, fetch_types: false, max_lifetime: null };
    const sql = postgres({ ...options, onnotice: () => {} });
    await createEmpty((text) => sql.unsafe(text), schema);
    const database = { url, sql, schema, clients: keepsConnections ? [] : undefined };
    all.push(database);
    return database;
  };
  return {
    async open(options) {
      const database = free.pop() ?? await create();
      return await openEmpty(database, () => free.push(database), options);
    },
    async close() {
      await Promise.all(
        all.flatMap(({ sql, clients = [] }) => [sql.end(), ...clients.map((client) => client.close())]),
      );
    },
  };
}

/** Opens the store of a database. */
async function openOn({ url, clients }: Database, options: StoreOptions): Promise<Store> {
  if (clients === undefined) return await openStore(url, options);
  const client = clients.pop() ?? await Client.create(parseAddress(url), { waitMs: 10_000 });
  const { client: shared, settled } = sharedClient(client);
  const store = storeOn(shared, await prepare(shared, false), options);
  return {
    ...store,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await settled();
      clients.push(client);
    },
  };
}

async function openEmpty(
  database: Database,
  release: () => void,
  options: TestOptions = {},
): Promise<TestStore> {
  const { sql, schema } = database;
  const inSchema = (text: string) => text.replaceAll("jobs.", `${schema}.`).replaceAll("'jobs'", `'${schema}'`);
  let ahead = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const all: StoreOptions = { ...options, clock };
  const stores: Store[] = [await openOn(database, all)];
  return {
    store: stores[0]!,
    // 10,000 nodes take half a minute. 400 take several steps, too.
    largeFlow: 400,
    shortLog: "cron:nightly",
    // The tests' server doesn't sync.
    durability: "none",
    async another() {
      const store = await openOn(database, all);
      stores.push(store);
      return store;
    },
    now: () => clock.now(),
    advance: (ms) => ahead += ms,
    pushRaw: (queue, text) => pushRawTo((query, values) => sql.unsafe(inSchema(query), [...values]), queue, text),
    async holding(text) {
      const rows = await sql.unsafe(`${inSchema(TABLES_WITH)}'${text.replaceAll("'", "''")}')`) as unknown as Row[][];
      return rows.at(-1)!.map(({ holding }) => String(holding));
    },
    async [Symbol.asyncDispose]() {
      for (const store of stores) await store[Symbol.asyncDispose]();
      const wrong = await sql.unsafe(inSchema(WRONG), [], { prepare: true });
      await sql.unsafe("SELECT public.empty_jobs()", [], { prepare: true });
      release();
      if (wrong.length > 0) throw new Error(`Places are wrong: ${JSON.stringify(wrong)}`);
    },
  };
}
