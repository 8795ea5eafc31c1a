/**
 * The time from a push to the start of a job that has its turn before a backlog: the only job of a group, or one of high
 * priority, behind the jobs of another group. The worker has 10 processors, and its jobs take 5 ms. Prints one line of JSON.
 *
 *     deno run -A tests/bench/turns.ts STORE-URL [BACKLOG] [SAMPLES]
 */
import { Client } from "../../src/client/client.ts";
import { defaultSettings } from "../../src/config/settings.ts";
import { Registry } from "../../src/handlers/registry.ts";
import { openLog } from "../../src/log/log.ts";
import { startServer } from "../../src/server/start.ts";
import { openStore } from "../../src/store/open.ts";

/** Times from push to start in milliseconds. */
export interface TurnsResult {
  readonly group: Wait;
  readonly priority: Wait;
}

interface Wait {
  readonly p50: number;
  readonly p99: number;
}

const BATCH = 10_000;
const [url, backlog = "1000000", samples = "100"] = Deno.args;
using _log = openLog({ level: "warn" });
await using store = await openStore(url!);
const client = new Client({ store, onUnregistered: () => {} });
for (let from = 0; from < Number(backlog); from += BATCH) {
  const args = Array.from({ length: Math.min(BATCH, Number(backlog) - from) }, (_, i) => [from + i]);
  await client.pushBulk({ class: "Work", args, group: "large" });
}

let started: PromiseWithResolvers<number>;
const registry = new Registry()
  .add("Work", () => new Promise<void>((resolve) => setTimeout(resolve, 5)))
  .add("Stamp", () => started.resolve(performance.now()));
const server = await startServer({
  log: false,
  store: url!,
  registry,
  settings: { ...defaultSettings(), concurrency: 10 },
});
const result: TurnsResult = {
  group: await wait({ group: "small" }),
  priority: await wait({ priority: "high" }),
};
await server.stop();
console.log(JSON.stringify(result));

async function wait(options: { readonly group?: string; readonly priority?: "high" }): Promise<Wait> {
  const times: number[] = [];
  for (let i = 0; i < Number(samples); i++) {
    started = Promise.withResolvers();
    const pushed = performance.now();
    await client.push("Stamp", [], options);
    times.push(await started.promise - pushed);
    // Not in step with the worker's fetches.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
  }
  times.sort((a, b) => a - b);
  return { p50: times[times.length >> 1]!, p99: times[Math.floor(times.length * 0.99)]! };
}
