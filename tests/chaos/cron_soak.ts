/**
 * 100,000 cron entries for minutes, of which 1,000 are due in the same second again and again, while workers are killed, frozen and
 * woken, one has a wrong clock, entries are removed, edited and paused, and no worker runs for a while. Exits with 1 if a run is
 * missing or is there twice, or an old rule has run.
 *
 *   ENTRIES=100000 DUE=1000 ROUNDS=12 EVERY_MS=10000 WORKERS=4 SEED=1 deno run -A tests/chaos/cron_soak.ts [redis | postgres]
 *
 * @module
 */
import { startServer, type StoreKind } from "../support/servers.ts";
import { cronChaos } from "./cron_chaos.ts";

const setting = (name: string, usual: number) => Number(Deno.env.get(name) ?? usual);
const kind = (Deno.args[0] ?? "sqlite") as StoreKind;
const options = {
  entries: setting("ENTRIES", 100_000),
  due: setting("DUE", 1_000),
  rounds: setting("ROUNDS", 12),
  everyMs: setting("EVERY_MS", 10_000),
  workers: setting("WORKERS", 4),
  outageMs: setting("OUTAGE_MS", 65_000),
  clockAheadSeconds: setting("CLOCK_AHEAD_SECONDS", 120),
  seed: setting("SEED", 1),
};
await using server = await startServer(kind);
const report = await cronChaos({ ...options, url: server?.url() });
console.log(`${kind}: ${JSON.stringify({ ...options, ...report })}`);
