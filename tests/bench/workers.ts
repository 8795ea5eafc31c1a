/**
 * Jobs per second of several workers together on one store, and their processor time per job. Prints one line of JSON.
 *
 *     deno run -A tests/bench/workers.ts STORE-URL WORKERS [JOBS]
 */
import { Client } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";
import { until } from "../support/eventually.ts";
import { cpuMsOf, ROOT } from "./measure.ts";

/** The figures of all workers together. */
export interface WorkersResult {
  readonly perSecond: number;
  /** Processor time of the workers per performed job, in microseconds, without that of the store. */
  readonly cpuMicros: number;
}

const [url, count, jobs = "600000"] = Deno.args;
/** Shares of the jobs between which the rate is measured: all workers run by then, and none has run out of work. */
const FROM = 0.1;
const TO = 0.9;

await using store = await openStore(url!);
const folder = await Deno.makeTempDir({ prefix: "jobs-bench-" });
await Deno.writeTextFile(`${folder}/handlers.js`, "export function Noop() {}\n");
const admin = store.admin;
await admin.configure("default", { pause: true });
const args = ["run", `${folder}/handlers.js`, "--store", url!, "--log-level", "error"];
const workers = Array.from(
  { length: Number(count) },
  () => new Deno.Command(`${ROOT}jobs`, { args, stdin: "null" }).spawn(),
);
try {
  const list = Array.from({ length: Number(jobs) }, (_, i) => ["bob", i]);
  await new Client({ store, onUnregistered: () => {} }).pushBulk({ class: "Noop", args: list });
  await until(async () => (await store.workers.list()).length === Number(count));
  await admin.configure("default", { pause: false });
  const passed = async (share: number) => {
    await until(async () => (await admin.stats()).processed >= share * Number(jobs));
    const cpu = await Promise.all(workers.map(({ pid }) => cpuMsOf(pid)));
    return {
      at: performance.now(),
      cpuMs: cpu.reduce((sum, ms) => sum + ms, 0),
      processed: (await admin.stats()).processed,
    };
  };
  const [first, last] = [await passed(FROM), await passed(TO)];
  const performed = last.processed - first.processed;
  const result: WorkersResult = {
    perSecond: Math.round(performed / (last.at - first.at) * 1_000),
    cpuMicros: Math.round((last.cpuMs - first.cpuMs) * 10_000 / performed) / 10,
  };
  console.log(JSON.stringify(result));
} finally {
  for (const worker of workers) worker.kill("SIGTERM");
  await Promise.all(workers.map((worker) => worker.status));
  await Deno.remove(folder, { recursive: true });
}
