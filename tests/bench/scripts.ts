/**
 * How long each Lua script holds Redis at worst, with a million jobs in a queue and in each set. While a script runs, no
 * other client is served. Figures, not a test; exits with 1 if a script is over the bar without a reason.
 *
 *   deno task bench:scripts [JOBS] [SCRIPT]…
 *
 * Redis measures the scripts itself (SLOWLOG). Each case runs {@linkcode ROUNDS} times, and the best of its slowest runs
 * counts. The time in which the machine had no core for Redis is subtracted, in proportion, so that a busy machine changes
 * the figures little.
 */
import { SCRIPTS } from "../../src/store/redis/client/scripts.ts";
import { type Redis, startFull } from "./scripts_data.ts";
import { JOB_CASES } from "./scripts_jobs.ts";
import { FLOW_CASES } from "./scripts_flows.ts";
import { WORKER_CASES } from "./scripts_workers.ts";

const JOBS = Number(Deno.args[0] ?? 1_000_000);
/** Measures these scripts alone. */
const ONLY = Deno.args.slice(1);
const ROUNDS = 5;
/** The longest time that a script may take. */
const BAR_MS = 20;

const WALK =
  "Redis removes from a list by value, after a walk from one end: one for all, through half the queue at most";
/** Reasons why a case may exceed the limit. */
const REASONS: Readonly<Record<string, string>> = {
  "20 jobs from the middle of the queue": WALK,
  "200 jobs all over the queue to its back": WALK,
  "a queue, with 100,000 leases of 100 workers":
    "running jobs must count at once: about 1 µs for each running job of all workers",
};

/** One line of the table. */
interface Row {
  readonly script: string;
  readonly what: string;
  readonly ms: number;
  /** Scripts of this name that the case ran. */
  readonly runs: number;
}

await using redis = await startFull(JOBS);
const names = new Map(Object.entries(SCRIPTS).map(([name, { sha }]) => [sha, name]));
for (const { text } of Object.values(SCRIPTS)) await redis.server.cli("SCRIPT", "LOAD", text);

const pid = (await redis.server.cli("INFO", "server")).match(/process_id:(\d+)/)![1];

console.log(
  `\n${JOBS.toLocaleString("en")} jobs of 200 bytes in a queue and in each set. Milliseconds, bar ${BAR_MS}.\n`,
);
let isOver = false;
const seen = new Set<string>();
for (const { script, what, prepare, run } of [...JOB_CASES, ...WORKER_CASES, ...FLOW_CASES]) {
  if (ONLY.length > 0 && !ONLY.includes(script)) continue;
  const rounds: Row[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await prepare?.(redis);
    await redis.server.cli("SLOWLOG", "RESET");
    const before = await cpuMs();
    await run(redis);
    const cpu = await cpuMs() - before;
    const commands = await slowlog(redis);
    const share = Math.min(1, cpu / commands.reduce((sum, { ms }) => sum + ms, 0));
    // The kernel's account of times under a millisecond is too coarse.
    const times = commands.filter((one) => one.script === script).map(({ ms }) => ms < 1 ? ms : ms * share);
    if (times.length === 0) throw new Error(`The case "${what}" runs no script ${script}`);
    rounds.push({ script, what, ms: Math.max(...times), runs: times.length });
  }
  seen.add(script);
  report(rounds.reduce((best, row) => row.ms < best.ms ? row : best));
}
const missing = (ONLY.length > 0 ? ONLY : Object.keys(SCRIPTS)).filter((name) => !seen.has(name));
if (missing.length > 0) console.log(`\nNot measured: ${missing.join(", ")}`);
if (isOver || missing.length > 0) Deno.exitCode = 1;

/** The commands since the log was reset; `script` is the name of those that are scripts. */
async function slowlog({ server }: Redis): Promise<{ script: string | undefined; ms: number }[]> {
  const entries = JSON.parse(await server.cli("--json", "SLOWLOG", "GET", "-1")) as [
    number,
    number,
    number,
    string[],
  ][];
  return entries.map(([, , us, [command, sha]]) => ({
    script: command === "EVALSHA" ? names.get(sha!) : command === "EVAL" ? "claimScratch" : undefined,
    ms: us / 1_000,
  }));
}

/** The processor time of Redis's main thread so far, in milliseconds. */
async function cpuMs(): Promise<number> {
  const [nanoseconds] = (await Deno.readTextFile(`/proc/${pid}/task/${pid}/schedstat`)).split(" ");
  return Number(nanoseconds) / 1e6;
}

function report({ script, what, ms, runs }: Row): void {
  const reason = REASONS[what];
  const isHigh = ms > BAR_MS;
  if (isHigh && reason === undefined) isOver = true;
  const mark = isHigh ? reason === undefined ? "  OVER THE BAR" : `  (${reason})` : "";
  console.log(`${script.padEnd(14)} ${what.padEnd(70)} ${ms.toFixed(2).padStart(8)} ${`×${runs}`.padStart(6)}${mark}`);
}
