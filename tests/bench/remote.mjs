/**
 * A worker in Node over HTTP, for the benchmarks: pushes `JOBS` no-op jobs with a text of `BYTES` bytes, or performs them, and prints the
 * seconds and the processor time.
 *
 *     JOBS=50000 BYTES=10 node remote.mjs push|work URL CONCURRENCY
 */
import { JobsClient, work } from "../../clients/node/jobs_client.mjs";

const [stage, url, concurrency] = process.argv.slice(2);
const total = Number(process.env.JOBS);
const text = "x".repeat(Number(process.env.BYTES));
let start = performance.now();

if (stage === "push") {
  const rows = function* () {
    for (let i = 0; i < total; i++) yield { class: "Noop", args: [text] };
  };
  process.removeAllListeners("warning"); // no worker has registered the class yet
  for await (const { refused } of new JobsClient({ url }).pushMany(rows())) if (refused) throw new Error(refused);
  console.log(`push ${(performance.now() - start) / 1_000}`);
} else {
  let left = total;
  let cpu;
  const stop = new AbortController();
  const Noop = () => {
    if (left === total) [start, cpu] = [performance.now(), process.cpuUsage()];
    if (--left === 0) stop.abort();
  };
  const options = { signal: stop.signal, signals: false, log() {} };
  await work({ url, concurrency: Number(concurrency), handlers: { Noop }, ...options });
  const { user, system } = process.cpuUsage(cpu);
  console.log(`drain ${(performance.now() - start) / 1_000}\ncpu ${(user + system) / 1e6}`);
}
