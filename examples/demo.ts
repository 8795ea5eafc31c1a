/**
 * `make demo`: a worker with its dashboard on a temporary store, and jobs of several kinds pushed over HTTP. The store is a SQLite
 * file, or that of the first argument: `postgres` or `redis` for a server that ends with the demo, or an address. On a terminal it
 * redraws its progress and shows live traffic for a minute; then the dashboard stays for another minute, or until a key is pressed.
 * Elsewhere it prints plain lines and ends within 20 seconds.
 * Exits with 1 unless every job ended as it should.
 */
import { hidePassword } from "../src/store/port/hide_password.ts";
import { startServer } from "../tests/support/servers.ts";
import { MissingTool } from "../tests/support/tools.ts";

const isTerminal = Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
/** How long new jobs are pushed. */
const TRAFFIC_MS = isTerminal ? 60_000 : 8_000;
/** How long the dashboard stays after the last job. */
const STAY_MS = isTerminal ? 60_000 : 0;
const TICK_MS = 250;
/** Prints a plain line at most this often. */
const LINE_MS = 2_000;
const CONCURRENCY = 5;
/** Gives up when jobs don't end for this long after the last push. */
const PATIENCE_MS = 60_000;

/** The counts of `GET /api/v1/stats`. */
interface Stats {
  readonly running: number;
  readonly queued: number;
  readonly scheduled: number;
  readonly retrying: number;
  readonly dead: number;
  readonly processed: number;
  readonly failed: number;
}

const folder = await Deno.makeTempDir({ prefix: "jobs-demo-" });
const port = freePort();
const url = `http://127.0.0.1:${port}`;
const log = `${folder}/worker.log`;
const interrupted = Promise.withResolvers<void>();
let isInterrupted = false;
/** A key ends the traffic, or the stay after it. */
const pressed = Promise.withResolvers<void>();
let isPressed = false;
if (isTerminal) {
  Deno.stdin.setRaw(true, { cbreak: true }); // Ctrl-C still interrupts
  void Deno.stdin.read(new Uint8Array(1)).then(() => {
    isPressed = true;
    pressed.resolve();
  });
}
Deno.addSignalListener("SIGINT", () => {
  isInterrupted = true;
  interrupted.resolve();
});

const handlers = "examples/handlers.js";
const [kind = "sqlite"] = Deno.args;
const server = kind === "postgres" || kind === "redis" ? await serverOf(kind) : undefined;
const store = server?.url() ?? (kind === "sqlite" ? `sqlite:${folder}/demo.db` : kind);
console.log(`Starting: jobs run ${handlers} --concurrency ${CONCURRENCY} --web ${port} --store ${hidePassword(store)}`);
const worker = new Deno.Command(Deno.execPath(), {
  args: ["run", "-A", "--no-prompt", "main.ts", "run", handlers, "-c", `${CONCURRENCY}`, "--web", `${port}`],
  env: { JOBS_STORE: store, JOBS_LOG_FILE: log, JOBS_LOG_FORMAT: "pretty" },
  stdin: "null",
  detached: true, // Ctrl-C ends this program, which then stops the worker
}).spawn();

let isComplete = false;
try {
  await ready();
  console.log(`Dashboard: ${url}/`);
  isComplete = await show();
  if (isComplete && STAY_MS > 0 && !isPressed) await stay();
} finally {
  if (isTerminal) Deno.stdin.setRaw(false);
  worker.kill("SIGTERM");
  const { success } = await worker.status;
  isComplete = isComplete && success;
  if (!isComplete && !isInterrupted) {
    console.error(await Deno.readTextFile(log).catch(() => "The worker logged nothing"));
  }
  await Deno.remove(folder, { recursive: true });
  await server?.[Symbol.asyncDispose]();
}
if (!isComplete && !isInterrupted) {
  console.error("The jobs did not end as they should. The worker's log is above.");
  Deno.exit(1);
}
console.log(`
Try it. Keep a worker running with \`make run\`, and in a second terminal:
  ./jobs push Greet ada --wait   enqueue a job and wait for it
  ./jobs push Doomed             a job that fails: see \`./jobs list dead\`
  ./jobs top                     watch queues, workers and running jobs
`);
Deno.exit(0); // a read of a key may be pending

/** Starts a server, or ends the demo where it isn't installed. */
async function serverOf(kind: "postgres" | "redis"): Promise<AsyncDisposable & { url(): string }> {
  const server = await startServer(kind).catch((error) => {
    if (!(error instanceof MissingTool)) throw error;
    const packageOf = kind === "postgres" ? "postgresql" : "redis-server";
    console.error(
      `Store "${kind}" isn't installed: install the package ${packageOf}, or give an address (STORE=${kind}://…)`,
    );
    Deno.exit(1);
  });
  return server!;
}

/** Keeps the dashboard for a while, or until a key is pressed. */
async function stay(): Promise<void> {
  console.log(`The dashboard stays for ${STAY_MS / 1000} s: ${url}/ (any key ends)`);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ended = new Promise<void>((resolve) => timer = setTimeout(resolve, STAY_MS));
  await Promise.race([ended, pressed.promise, interrupted.promise]);
  clearTimeout(timer);
}

/** Pushes jobs until the time is up, then waits for them. Returns whether all ended as they should. */
async function show(): Promise<boolean> {
  let [pushed, flaky, doomed] = [0, 0, 0];
  let shownAt = 0;
  const started = performance.now();
  const before = await read();
  let endedTraffic: number | undefined;
  for (let tick = 0;; tick++) {
    const elapsed = performance.now() - started;
    if (elapsed < TRAFFIC_MS && !isInterrupted && !isPressed) {
      const jobs = jobsOf(tick);
      pushed += jobs.length;
      flaky += jobs.filter((job) => job.class === "Flaky").length;
      doomed += jobs.filter((job) => job.class === "Doomed").length;
      await push(jobs);
    } else endedTraffic ??= performance.now();
    const stats = since(before, await read());
    const open = stats.queued + stats.scheduled + stats.retrying + stats.running;
    if (isTerminal) draw(stats, pushed, open, elapsed);
    else if (performance.now() - shownAt >= LINE_MS) {
      shownAt = performance.now();
      console.log(line(stats, pushed, open));
    }
    if (isInterrupted) return false;
    if (endedTraffic !== undefined && open === 0) {
      if (isTerminal) console.log();
      console.log(`Done: ${pushed} jobs, ${stats.failed} failed attempts, ${stats.dead} dead, none lost.`);
      // Each Flaky fails twice before it succeeds, each Doomed once.
      return stats.dead === doomed && stats.failed === 2 * flaky + doomed && stats.processed === pushed + 2 * flaky;
    }
    if (endedTraffic !== undefined && performance.now() - endedTraffic > PATIENCE_MS) return false;
    await Promise.race([new Promise((resolve) => setTimeout(resolve, TICK_MS)), interrupted.promise]);
  }
}

/** The jobs of one tick: mostly quick ones, and now and then one that takes time, fails, or runs later. */
function jobsOf(tick: number): { class: string; [option: string]: unknown }[] {
  const jobs: { class: string; [option: string]: unknown }[] = [1, 2, 3, 4].map((i) => ({
    class: "Greet",
    args: [`guest ${tick * 4 + i}`],
  }));
  if (tick % 4 === 0) jobs.push({ class: "Resize", args: [`photo-${tick}.png`, 1] });
  if (tick % 8 === 1) jobs.push({ class: "Flaky", args: [`https://example.org/${tick}`] });
  if (tick % 8 === 2) jobs.push({ class: "Billing::InvoiceJob", args: [{ customer: "ACME", cents: 100 * tick }] });
  if (tick % 8 === 3) jobs.push({ class: "Greet", args: ["latecomer"], in: "2s" });
  if (tick === 5) jobs.push({ class: "Doomed", args: [] });
  return jobs;
}

function line({ running, retrying, dead }: Stats, pushed: number, open: number): string {
  return `${pushed - open} of ${pushed} jobs done, ${running} running, ${retrying} retrying, ${dead} dead`;
}

/** Redraws the line of a terminal. */
function draw(stats: Stats, pushed: number, open: number, elapsed: number): void {
  const width = 20;
  const full = Math.round(width * Math.min(1, elapsed / TRAFFIC_MS));
  const bar = "█".repeat(full) + "░".repeat(width - full);
  const text = `\r\x1b[K${bar}  ${line(stats, pushed, open)}  (any key ends)`;
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}

async function push(jobs: readonly unknown[]): Promise<void> {
  const response = await fetch(`${url}/api/v1/jobs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(jobs),
  });
  if (!response.ok) throw new Error(`Push refused with ${response.status}: ${await response.text()}`);
  await response.body?.cancel();
}

async function read(): Promise<Stats> {
  return await (await fetch(`${url}/api/v1/stats`)).json();
}

/** The counts of this demo: a store that was given may have jobs of before. */
function since(before: Stats, now: Stats): Stats {
  const names = Object.keys(now) as (keyof Stats)[];
  return Object.fromEntries(names.map((name) => [name, now[name] - before[name]])) as unknown as Stats;
}

/** Waits until the dashboard responds and the worker takes jobs. */
async function ready(): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  let ended = false;
  worker.status.then(() => ended = true);
  while (!ended && performance.now() < deadline) {
    const response = await fetch(`${url}/readyz`).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("The worker did not start");
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}
