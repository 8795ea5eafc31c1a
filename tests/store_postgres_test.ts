/**
 * The store contract, on a real PostgreSQL. `store_postgres_long_test.ts` has its long themes.
 *
 * @module
 */
import { LARGE_THEMES, storeContract, THEMES } from "./store_contract/mod.ts";
import { startPostgres } from "./support/postgres.ts";
import { emptyPostgresStores } from "./support/postgres_stores.ts";

const postgres = await startPostgres();
const stores = emptyPostgresStores(postgres, { keepsConnections: true });
Deno.test.afterAll(async () => {
  await stores.close();
  await postgres[Symbol.asyncDispose]();
});

storeContract("postgres", stores.open, THEMES.filter((theme) => !LARGE_THEMES.includes(theme)));
