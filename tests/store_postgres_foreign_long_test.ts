/**
 * The contract of a store in PostgreSQL databases of other people: with `WHOLE=1` all but the themes with thousands of jobs, else some themes.
 *
 * @module
 */
import { LARGE_THEMES, storeContract, THEMES } from "./store_contract/mod.ts";
import { foreignDatabases } from "./support/foreign_databases.ts";
import { startPooler } from "./support/pgbouncer.ts";
import { startPostgres } from "./support/postgres.ts";
import { emptyPostgresStores } from "./support/postgres_stores.ts";
import { IS_WHOLE } from "./support/whole.ts";

const SOME_THEMES = ["take", "unique", "rescue"];

const postgres = await startPostgres({ config: { wal_level: "logical" } });
const closes: (() => Promise<void>)[] = [];
Deno.test.afterAll(async () => {
  for (const close of closes.toReversed()) await close();
  await postgres[Symbol.asyncDispose]();
});

const pooler = await startPooler(postgres, 3);
closes.push(async () => await pooler[Symbol.asyncDispose]());
const databases = {
  ...await foreignDatabases(postgres),
  "transactions of a pooler": { url: (name: string) => `${postgres.url(name, pooler.port)}?prepare=false` },
};

for (const [what, surroundings] of Object.entries(databases)) {
  const { open, close } = emptyPostgresStores(postgres, { keepsConnections: true, ...surroundings });
  closes.push(close);
  storeContract(what, open, IS_WHOLE ? THEMES.filter((theme) => !LARGE_THEMES.includes(theme)) : SOME_THEMES);
}
