/** Cron entries while workers are killed and frozen, and entries are removed and edited. */
import { startServer } from "../support/servers.ts";
import { cronChaos } from "./cron_chaos.ts";

// The simulation has Redis and SQLite.
for (const kind of ["sqlite", "postgres"] as const) {
  Deno.test(`${kind}: 1,000 cron entries of one second run once each while workers are killed and frozen, and no changed one does`, async () => {
    await using server = await startServer(kind);
    const size = { entries: 1_000, due: 1_000, rounds: 1, everyMs: 5_000, workers: 2 };
    await cronChaos({ ...size, url: server?.url(), seed: 1 });
  });
}
