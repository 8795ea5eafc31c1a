/**
 * How long a job waits from being pushed until it starts in a worker that performs other jobs meanwhile, which another process
 * pushes at a steady rate: a job like them, one of high priority, and the only one of its group. Prints one line of JSON.
 *
 *     deno run -A tests/bench/under_load.ts STORE-URL [JOBS-PER-SECOND] [SAMPLES]
 */
import { Client } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";
import { until } from "../support/eventually.ts";
import { type Delays, preciseNow, startObserved } from "./observed_worker.ts";
import { denoCommand } from "../../scripts/deno_command.ts";

/** The measured delays, from before the push to the start. */
export interface UnderLoadResult {
  readonly plain: Delays;
  readonly priority: Delays;
  readonly group: Delays;
  /** Jobs that the worker performed per second, on average. */
  readonly perSecond: number;
  /** Processor time of the worker per performed job, in microseconds. */
  readonly cpuMicros: number;
}

const KINDS = { plain: {}, priority: { priority: "high" }, group: { group: "small" } } as const;
const PUSH_EVERY_MS = 10;
const WARM_UP_S = 5;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Pushes jobs at a steady rate until the process is ended. The next push makes up for a slow one. */
async function pushSteadily(url: string, perSecond: number): Promise<never> {
  await using store = await openStore(url);
  const client = new Client({ store, onUnregistered: () => {} });
  const start = performance.now();
  for (let pushed = 0;;) {
    await pause(PUSH_EVERY_MS);
    const due = Math.floor((performance.now() - start) / 1_000 * perSecond) - pushed;
    if (due <= 0) continue;
    await client.pushBulk({ class: "Noop", args: Array.from({ length: due }, (_, i) => ["bob", i]) });
    pushed += due;
  }
}

async function measure(url: string, perSecond: string, samples: number): Promise<UnderLoadResult> {
  await using store = await openStore(url);
  const client = new Client({ store, onUnregistered: () => {} });
  await using worker = await startObserved(store);
  const [program, ...args] = denoCommand("run", "-A", import.meta.filename!, "push", url, perSecond);
  const pusher = new Deno.Command(program, { args, stdin: "null" }).spawn();
  try {
    // The programs run their code for the first time meanwhile.
    await until(async () => (await store.admin.stats()).processed >= WARM_UP_S * Number(perSecond), undefined, 60_000);
    const before = (await store.admin.stats()).processed;
    const cpuBefore = await worker.cpuMs();
    const since = performance.now();
    const delays: Partial<Record<keyof typeof KINDS, Delays>> = {};
    for (const kind of Object.keys(KINDS) as (keyof typeof KINDS)[]) {
      const push = async (count: number) => {
        for (let i = 0; i < count; i++) {
          await client.push("Stamp", [preciseNow()], KINDS[kind]);
          // Not in step with the worker.
          await pause(20 + 20 * Math.random());
        }
      };
      // The first pushes run code for the first time.
      await push(10);
      await worker.report(client, 10);
      await client.push("Forget", [], { priority: "high" });
      // Performed after that, however late.
      await worker.report(client, 0);
      await push(samples);
      delays[kind] = await worker.report(client, samples);
    }
    const performed = (await store.admin.stats()).processed - before;
    const seconds = (performance.now() - since) / 1_000;
    const cpuMicros = Math.round((await worker.cpuMs() - cpuBefore) * 10_000 / performed) / 10;
    return { ...delays as Required<typeof delays>, perSecond: Math.round(performed / seconds), cpuMicros };
  } finally {
    pusher.kill("SIGKILL");
    await pusher.status;
  }
}

const [first, ...rest] = Deno.args;
if (first === "push") await pushSteadily(rest[0]!, Number(rest[1]));
else {
  const [perSecond = "20000", samples = "200"] = rest;
  console.log(JSON.stringify(await measure(first!, perSecond, Number(samples))));
}
