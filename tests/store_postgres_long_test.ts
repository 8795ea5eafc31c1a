/**
 * The themes of the store contract with thousands of jobs, on a real PostgreSQL.
 *
 * @module
 */
import { LARGE_THEMES, storeContract } from "./store_contract/mod.ts";
import { startPostgres } from "./support/postgres.ts";
import { emptyPostgresStores } from "./support/postgres_stores.ts";

const postgres = await startPostgres();
const stores = emptyPostgresStores(postgres, { keepsConnections: true });
Deno.test.afterAll(async () => {
  await stores.close();
  await postgres[Symbol.asyncDispose]();
});

storeContract("postgres", stores.open, LARGE_THEMES);
