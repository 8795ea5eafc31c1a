/**
 * How late scheduled jobs start in another process, when they are due at a steady rate. Prints one line of JSON.
 *
 *     deno run -A tests/bench/scheduled.ts STORE-URL [COUNT] [PER-SECOND]
 */
import { Client } from "../../src/client/client.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { openStore } from "../../src/store/open.ts";
import { type Delays, preciseNow, startObserved } from "./observed_worker.ts";

/** The delays, and the processor time of the worker per job in microseconds. */
export interface ScheduledResult extends Delays {
  readonly cpuMicros: number;
}

/** The first job is due after this time, in which all are pushed. */
const LEAD_MS = 5_000;

/** Pushes jobs that are due at this rate, and measures how late a worker starts them. */
export async function measureScheduled(store: Store, count: number, perSecond: number): Promise<ScheduledResult> {
  const client = new Client({ store });
  await using worker = await startObserved(store);
  const first = Math.ceil(preciseNow()) + LEAD_MS;
  const jobs = function* () {
    for (let i = 0; i < count; i++) {
      const due = first + Math.round(i * 1_000 / perSecond);
      yield { class: "Stamp", args: [due], at: new Date(due) };
    }
  };
  for await (const { refused } of client.pushMany(jobs())) if (refused !== undefined) throw new Error(refused);
  if (preciseNow() > first) throw new Error(`Pushing took longer than ${LEAD_MS} ms`);
  await new Promise((resolve) => setTimeout(resolve, first - preciseNow()));
  const before = await worker.cpuMs();
  await new Promise((resolve) => setTimeout(resolve, count / perSecond * 1_000));
  const delays = await worker.report(client, count);
  return { ...delays, cpuMicros: Math.round((await worker.cpuMs() - before) * 1_000 / count) };
}

if (import.meta.main) {
  const [url, count = "10000", perSecond = "1000"] = Deno.args;
  await using store = await openStore(url!);
  console.log(JSON.stringify(await measureScheduled(store, Number(count), Number(perSecond))));
}
