/**
 * Ours in the comparison with other systems: pushes `JOBS` jobs with a text of `BYTES` bytes, performs them 10 at once, and
 * prints the seconds of both, and the processor time of the worker. The drain ends when every outcome is stored and the worker has stopped.
 *
 *     JOBS=50000 BYTES=10 deno run -A tests/bench/peers_ours.ts STORE-URL
 */
import { runLoad } from "./load.ts";

const jobs = Number(Deno.env.get("JOBS"));
const { pushPerSecond, drainPerSecond, drainCpuMicros } = await runLoad(Deno.args[0]!, {
  jobs,
  bytes: Number(Deno.env.get("BYTES")),
});
console.log(`push ${jobs / pushPerSecond}\ndrain ${jobs / drainPerSecond}\ncpu ${drainCpuMicros * jobs / 1e6}`);
