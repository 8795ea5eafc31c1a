/**
 * Pushes N no-op jobs in bulk, then drains them with one worker that runs them in work horses. Prints one line of JSON.
 *
 *     deno run -A tests/bench/horses.ts STORE-URL [N] [HORSES]
 */
import { defaultSettings } from "../../src/config/settings.ts";
import { loadHandlers } from "../../src/handlers/load.ts";
import { Registry } from "../../src/handlers/registry.ts";
import { openLog } from "../../src/log/log.ts";
import { Client } from "../../src/client/client.ts";
import { startServer } from "../../src/server/start.ts";
import { openStore } from "../../src/store/open.ts";

const [url, count = "20000", horses = "2"] = Deno.args;
const total = Number(count);
using _log = openLog({ level: "warn" });
await using store = await openStore(url!);
await new Client({ store }).pushBulk({ class: "Noop", args: Array.from({ length: total }, () => []) });

const registry = new Registry();
await loadHandlers([new URL("../support/handlers.js", import.meta.url).pathname], registry);
const before = (await store.admin.stats()).processed;
const start = performance.now();
const server = await startServer({
  log: false,
  store: url!,
  registry,
  settings: { ...defaultSettings(), isolate: ["Noop"], concurrency: Number(horses) },
});
let done = 0;
while (done < total) {
  await new Promise((resolve) => setTimeout(resolve, 20));
  done = (await store.admin.stats()).processed - before;
}
const drainMs = performance.now() - start;
await server.stop();
console.log(JSON.stringify({ total, horses: Number(horses), drainPerSecond: Math.round(total / drainMs * 1000) }));
