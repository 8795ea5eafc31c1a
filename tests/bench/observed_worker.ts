/**
 * A worker in another process that notes how late its jobs start. The argument of its class `Stamp` is the time to which
 * the start is compared, in epoch milliseconds.
 *
 * @module
 */
import type { Client } from "../../src/client/client.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { until } from "../support/eventually.ts";
import { cpuMsOf, ROOT } from "./measure.ts";

const HANDLERS = `
const delays = [];
export function Stamp(_ctx, due) {
  delays.push(performance.timeOrigin + performance.now() - due);
}
export function Report(_ctx, file) {
  Deno.writeTextFileSync(file + ".new", JSON.stringify(delays));
  Deno.renameSync(file + ".new", file);
}
export function Forget() {
  delays.length = 0;
}
export function Noop() {}
`;

/** A job behind a backlog starts within this time. */
const PATIENCE_MS = 300_000;

/** Delays in milliseconds. */
export interface Delays {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Returns the epoch milliseconds with fractions. */
export const preciseNow = () => performance.timeOrigin + performance.now();

/** Returns the percentiles of delays. */
export function delaysOf(times: readonly number[]): Delays {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]! * 100) / 100;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Starts a worker from the sources; resolves when it is online and idle. */
export async function startObserved(store: Store) {
  const folder = await Deno.makeTempDir({ prefix: "jobs-bench-" });
  await Deno.writeTextFile(`${folder}/handlers.js`, HANDLERS);
  const worker = new Deno.Command(`${ROOT}jobs`, {
    args: ["run", `${folder}/handlers.js`, "--store", store.url, "--log-level", "error"],
    stdin: "null",
  }).spawn();
  await until(async () => (await store.workers.list()).length > 0);
  return {
    /** Its processor time so far, in milliseconds. */
    cpuMs: () => cpuMsOf(worker.pid),
    /** Waits until `count` jobs have started; returns their delays. */
    async report(client: Client, count: number): Promise<Delays> {
      const file = `${folder}/delays`;
      let times: number[] = [];
      await until(
        async () => {
          await client.push("Report", [file], { priority: "high" });
          await until(() => Deno.stat(file).then(() => true, () => false), "a report is written", PATIENCE_MS);
          times = JSON.parse(await Deno.readTextFile(file));
          await Deno.remove(file);
          return times.length >= count;
        },
        `${count} jobs have started`,
        PATIENCE_MS,
      );
      return delaysOf(times);
    },
    async [Symbol.asyncDispose]() {
      worker.kill("SIGTERM");
      await worker.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}
