/**
 * Measures the cost of idle workers of other programs for their gateway, and how soon a push reaches one of them. Prints one line of JSON
 * ({@linkcode IdleCosts}).
 *
 *     deno run -A tests/bench/remote_idle.ts STORE-URL [WORKERS [SECONDS]]
 */
import { type Delays, delaysOf } from "./observed_worker.ts";
import { startGateway } from "./gateway.ts";

/** The measured costs. */
export interface IdleCosts {
  /** Of a core, while nothing happens. */
  readonly percent: number;
  /** Resident memory of the gateway in MB. */
  readonly megabytes: number;
  /** From before a push over HTTP until one of the workers has the job, in milliseconds. */
  readonly reached: Delays;
}

/** Workers that register at once. */
const AT_ONCE = 20;
const SETTLING_MS = 10_000;
const PUSHES = 200;
const PAUSE_MS = 30;

const [store, count = "1000", seconds = "20"] = Deno.args;
await using gateway = await startGateway(store!);
const end = new AbortController();
let onJob: (token: string, worker: string) => void = () => {};

async function send(path: string, body: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`${gateway.url}/api/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: end.signal,
  });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return await response.json();
}

async function register(number: number): Promise<string> {
  const { worker } = await send("/work/register", {
    ...{ protocol: 1, runtime: "bench 1", client: "bench 1", hostname: "bench", pid: 1, concurrency: 10 },
    ...{ nonce: number.toString(16).padStart(12, "0"), classes: { Noop: {} } },
  });
  return worker as string;
}

/** Waits for jobs, as an idle worker does. */
async function takeAll(worker: string): Promise<void> {
  for (let take = 1; !end.signal.aborted; take++) {
    const { jobs } = await send("/work/take", { worker, take, limit: 10, wait: "25s" });
    for (const { token } of jobs as { readonly token: string }[]) {
      onJob(token, worker);
      await send("/work/settle", { worker, outcomes: [{ token, end: "succeeded" }] });
    }
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const numbers = Array.from({ length: Number(count) }, (_, i) => i);
const taking: Promise<void>[] = [];
while (numbers.length > 0) {
  const workers = await Promise.all(numbers.splice(0, AT_ONCE).map(register));
  taking.push(...workers.map((worker) =>
    takeAll(worker).catch((error) => {
      if (!end.signal.aborted) throw error;
    })
  ));
}
await pause(SETTLING_MS);
const [before, began] = [await gateway.cpuMs(), performance.now()];
await pause(1_000 * Number(seconds));
const percent = (await gateway.cpuMs() - before) / (performance.now() - began) * 100;
const delays: number[] = [];
for (let i = -10; i < PUSHES; i++) {
  await pause(PAUSE_MS * (0.5 + Math.random()));
  const reached = new Promise<number>((resolve) => onJob = () => resolve(performance.now()));
  const start = performance.now();
  await send("/jobs", { class: "Noop", args: [] });
  const delay = await reached - start;
  // The first pushes run code for the first time.
  if (i >= 0) delays.push(delay);
}
const megabytes = await gateway.memory() / 1e6;
end.abort();
await Promise.all(taking);
const result: IdleCosts = { percent, megabytes, reached: delaysOf(delays) };
console.log(JSON.stringify(result));
