/**
 * Drains jobs of one durable step, with and without a result, and no-op jobs, in turns, with one worker in this process. Prints one line of JSON.
 *
 *     deno run -A tests/bench/steps.ts STORE-URL [N] [ROUNDS] [CONCURRENCY]
 */
import { defaultSettings } from "../../src/config/settings.ts";
import type { JobContext } from "../../src/handlers/context.ts";
import { openLog } from "../../src/log/log.ts";
import { Registry } from "../../src/handlers/registry.ts";
import { Client } from "../../src/client/client.ts";
import { startServer } from "../../src/server/start.ts";
import { openStore } from "../../src/store/open.ts";

const [url, count = "20000", rounds = "5", concurrency = "10"] = Deno.args;
const total = Number(count);
using _log = openLog({ level: "warn" });

let left = 0;
let done = Promise.withResolvers<void>();
const end = () => {
  if (--left === 0) done.resolve();
};
const registry = new Registry()
  .add("Noop", end)
  .add("Result", async (ctx: JobContext) => {
    await ctx.step("one", () => 1);
    end();
  })
  .add("NoResult", async (ctx: JobContext) => {
    await ctx.step("one", () => {});
    end();
  });

/** Returns jobs per second, the start and the stop of the worker included. */
async function drain(name: string): Promise<number> {
  left = total;
  done = Promise.withResolvers<void>();
  {
    await using store = await openStore(url!);
    await new Client({ store }).pushBulk({ class: name, args: Array.from({ length: total }, (_, i) => [i]) });
  }
  const start = performance.now();
  const settings = { ...defaultSettings(), concurrency: Number(concurrency) };
  const server = await startServer({ log: false, store: url!, registry, settings });
  await done.promise;
  await server.stop();
  return total / (performance.now() - start) * 1_000;
}

const rates: Record<string, number[]> = { Noop: [], Result: [], NoResult: [] };
for (let round = 0; round < Number(rounds); round++) {
  for (const [name, those] of Object.entries(rates)) those.push(await drain(name));
}
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
const perSecond = (name: string) => Math.round(median(rates[name]!));
/** Compared in pairs: the machine may become slower between two rounds. */
const ratio = (name: string) => Number(median(rates[name]!.map((rate, i) => rate / rates.Noop![i]!)).toFixed(2));
console.log(JSON.stringify({
  total,
  noopPerSecond: perSecond("Noop"),
  oneStep: { perSecond: perSecond("Result"), ratio: ratio("Result") },
  oneStepWithoutResult: { perSecond: perSecond("NoResult"), ratio: ratio("NoResult") },
}));
