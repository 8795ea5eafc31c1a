/**
 * The store contract, on a real PostgreSQL.
 *
 * @module
 */
import { storeContract } from "./store_contract/mod.ts";
import { startPostgres } from "./support/postgres.ts";
import { emptyPostgresStores } from "./support/postgres_stores.ts";

const postgres = await startPostgres();
const stores = emptyPostgresStores(postgres, { keepsConnections: true });
Deno.test.afterAll(async () => {
  await stores.close();
  await postgres[Symbol.asyncDispose]();
});

storeContract("postgres", stores.open);
