/**
 * The shop's pictures, in Node: a worker whose jobs come over HTTP. `node worker.mjs URL…`
 *
 * With several URLs, of gateways on one store, it continues at the next when one fails.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { work } from "../../clients/node/jobs_client.mjs";

const SIZES = [64, 256, 1024];

async function Pictures(ctx, product) {
  for (const [i, width] of SIZES.entries()) {
    // A library with native parts would do it. Stops when the job is cancelled.
    await sleep(20, undefined, { signal: ctx.signal });
    ctx.progress(Math.round(100 * (i + 1) / SIZES.length), `${width} px`);
  }
  return SIZES.map((width) => `${product}-${width}.webp`);
}
Pictures.options = { queue: "pictures", retry: 5, timeout: "1m", result_ttl: "1h" };

await work({ url: process.argv.slice(2), token: process.env.JOBS_TOKEN, handlers: { Pictures } });
