/**
 * Pushes N no-op jobs in bulk, then drains them with one worker in this process. Prints one line of JSON.
 *
 *     deno run -A tests/bench/drain.ts STORE-URL [N] [CONCURRENCY] [LOG-LEVEL] [LOG-FILE]
 */
import { defaultSettings } from "../../src/config/settings.ts";
import { type LogLevel, openLog } from "../../src/log/log.ts";
import { Registry } from "../../src/handlers/registry.ts";
import { Client } from "../../src/client/client.ts";
import { startServer } from "../../src/server/start.ts";
import { openStore } from "../../src/store/open.ts";

const [url, count = "200000", concurrency = "10", level = "warn", file] = Deno.args;
const total = Number(count);
using _log = openLog({ level: level as LogLevel, file });

const pushMs = await (async () => {
  await using store = await openStore(url!);
  const client = new Client({ store });
  const args = Array.from({ length: total }, (_, i) => ["bob", i]);
  const start = performance.now();
  await client.pushBulk({ class: "Noop", args });
  return performance.now() - start;
})();

const done = Promise.withResolvers<void>();
let left = total;
const registry = new Registry().add("Noop", () => {
  if (--left === 0) done.resolve();
});
const start = performance.now();
const server = await startServer({
  log: false,
  store: url!,
  registry,
  settings: { ...defaultSettings(), concurrency: Number(concurrency) },
});
await done.promise;
await server.stop();
const drainMs = performance.now() - start;

await using store = await openStore(url!);
const { processed, leased, enqueued } = await store.admin.stats();
console.log(JSON.stringify({
  total,
  pushPerSecond: Math.round(total / pushMs * 1000),
  drainPerSecond: Math.round(total / drainMs * 1000),
  lost: total - processed,
  leftBehind: leased + enqueued,
}));
