/**
 * How long a job waits from being pushed by one process until it starts in another that is idle, and how long the push
 * takes. Prints one line of JSON.
 *
 *     deno run -A tests/bench/latency.ts STORE-URL [COUNT] [PAUSE-MS]
 */
import { Client } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";
import { type Delays, delaysOf, preciseNow, startObserved } from "./observed_worker.ts";

/** The measured delays. */
export interface LatencyResult {
  /** From before the push to the start. */
  readonly start: Delays;
  /** How long the push takes. */
  readonly push: Delays;
}

if (import.meta.main) {
  const [url, count = "500", pause = "60"] = Deno.args;
  await using store = await openStore(url!);
  const client = new Client({ store, onUnregistered: () => {} });
  await using worker = await startObserved(store);
  const pushes: number[] = [];
  for (let i = -10; i < Number(count); i++) {
    // Not in step with anything the worker does. The first pushes run code for the first time.
    await new Promise((resolve) => setTimeout(resolve, Number(pause) * (0.5 + Math.random())));
    if (i === 0) await client.push("Forget", []);
    const start = preciseNow();
    await client.push("Stamp", [start]);
    if (i >= 0) pushes.push(preciseNow() - start);
  }
  const result: LatencyResult = { start: await worker.report(client, Number(count)), push: delaysOf(pushes) };
  console.log(JSON.stringify(result));
}
