/**
 * `make bench`: the figures that the project states, measured on this machine in one run. Nothing here passes or fails.
 */
import { formatDuration } from "../../src/job/duration.ts";
import { startRedis } from "../support/redis.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const folder = await Deno.makeTempDir({ prefix: "jobs-bench-" });

try {
  const cpu = (await Deno.readTextFile("/proc/cpuinfo")).match(/model name\s*:\s*(.*)/)?.[1] ?? "unknown processor";
  console.log(
    `${navigator.hardwareConcurrency} cores, ${cpu}, Deno ${Deno.version.deno}, ${new Date().toISOString()}\n`,
  );
  for (const durability of ["full", "normal"]) {
    await drain(`SQLite, durability ${durability}`, `sqlite:${folder}/${durability}.db?durability=${durability}`);
  }
  await latency("SQLite", `sqlite:${folder}/latency.db`);
  await redis();
  await pushes();
  console.log((await deno(["tests/bench/startup.ts"])).trimEnd());
  await cores();
  await idle();
} finally {
  await Deno.remove(folder, { recursive: true });
}

async function drain(name: string, url: string, concurrency = 10): Promise<void> {
  const output = await deno(["tests/bench/drain.ts", url, "200000", String(concurrency)]);
  const result = JSON.parse(output.trim().split("\n").at(-1)!);
  report(`${name}: bulk push, jobs/s`, result.pushPerSecond);
  report(`${name}: no-op drain, concurrency ${concurrency}, jobs/s`, result.drainPerSecond);
  if (result.lost !== 0 || result.leftBehind !== 0) console.log(`  !! ${JSON.stringify(result)}`);
}

/** The time from a push in one process to the start in another, idle one. */
async function latency(name: string, url: string): Promise<void> {
  const result = JSON.parse((await deno(["tests/bench/latency.ts", url])).trim().split("\n").at(-1)!);
  report(
    `${name}: from push to start in an idle process, p50 and p99, ms`,
    `${result.p50.toFixed(1)}  ${result.p99.toFixed(1)}`,
  );
}

/** The same on Redis, on this machine, and its cost in commands. */
async function redis(): Promise<void> {
  await using server = await startRedis();
  for (const concurrency of [10, 50]) {
    await server.cli("FLUSHALL");
    await server.cli("CONFIG", "RESETSTAT");
    await drain(`Redis`, server.url, concurrency);
    // Commands that clients sent: those within scripts cost no round trip.
    const commands = [
      ...(await server.cli("INFO", "commandstats")).matchAll(
        /cmdstat_(?:evalsha|multi|blmove|blpop)[^:]*:calls=(\d+)/g,
      ),
    ];
    report(
      `Redis: commands sent per job, pushing and draining`,
      (commands.reduce((sum, match) => sum + Number(match[1]), 0) / 200_000).toFixed(4),
    );
  }
  await latency("Redis", server.url);
}

/** `jobs push`, uncompiled, as a whole process. */
async function pushes(): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < 11; i++) {
    const start = performance.now();
    await new Deno.Command(`${ROOT}jobs`, {
      args: ["push", "Noop", "bob", "5", "--store", `sqlite:${folder}/push.db`],
      stdout: "null",
      stderr: "null",
    }).output();
    times.push(performance.now() - start);
  }
  times.shift(); // the first one fills caches
  times.sort((a, b) => a - b);
  report("jobs push, not compiled, median of 10", formatDuration(times[5]!));
}

/** CPU-bound jobs in one worker and in two; and work horses. */
async function cores(): Promise<void> {
  const last = async (args: string[]) => JSON.parse((await deno(args)).trim().split("\n").at(-1)!);
  report(
    "CPU-bound jobs: speed of two workers relative to one",
    (await last(["tests/bench/processes.ts"])).timesAsFast,
  );
  report(
    "2 work horses: no-op jobs/s",
    (await last(["tests/bench/horses.ts", `sqlite:${folder}/horses.db`])).drainPerSecond,
  );
}

/** An idle worker: its memory, and its share of a core. */
async function idle(): Promise<void> {
  const server = new Deno.Command(`${ROOT}jobs`, {
    args: ["run", "examples/handlers.js", "--store", `sqlite:${folder}/idle.db`],
    cwd: ROOT,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const before = await cpuTicks(server.pid);
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  const used = await cpuTicks(server.pid) - before;
  const rss = (await Deno.readTextFile(`/proc/${server.pid}/status`)).match(/VmRSS:\s*(\d+)/)![1];
  server.kill("SIGTERM");
  await server.status;
  report("idle worker, resident memory, MB", Math.round(Number(rss) / 1024));
  report("idle worker, share of a core, %", (used / 100 / 10 * 100).toFixed(2));
}

/** Processor time of a process in hundredths of a second. */
async function cpuTicks(pid: number): Promise<number> {
  const fields = (await Deno.readTextFile(`/proc/${pid}/stat`)).split(") ")[1]!.split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

async function deno(args: readonly string[]): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", ...args],
    cwd: ROOT,
    stderr: "inherit",
  }).output();
  return new TextDecoder().decode(stdout);
}

function report(what: string, figure: number | string): void {
  console.log(`${what.padEnd(60)} ${typeof figure === "number" ? figure.toLocaleString("en") : figure}`);
}
