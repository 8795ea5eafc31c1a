/** The shop's pictures, in Node: a job's handler with its options. */
import { setTimeout as sleep } from "node:timers/promises";

const SIZES = [64, 256, 1024];

export async function Pictures(ctx, product) {
  for (const [i, width] of SIZES.entries()) {
    // A library with native parts would do it. Stops when the job is cancelled.
    await sleep(20, undefined, { signal: ctx.signal });
    ctx.progress(Math.round(100 * (i + 1) / SIZES.length), `${width} px`);
  }
  return SIZES.map((width) => `${product}-${width}.webp`);
}
Pictures.options = { queue: "pictures", retry: 5, timeout: "1m", result_ttl: "1h" };
