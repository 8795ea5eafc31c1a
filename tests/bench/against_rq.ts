/**
 * No-op jobs in isolated processes, ours and RQ's, one after the other on the same Redis. RQ forks for each job; our work
 * horses stay warm. Needs Debian's python3-rq. Prints one line of JSON.
 *
 *     deno run -A tests/bench/against_rq.ts [OUR-JOBS] [RQ-JOBS]
 */
import { startRedis } from "../support/redis.ts";
import { denoCommand } from "../../scripts/deno_command.ts";

const [ours = "20000", theirs = "300"] = Deno.args;
await using redis = await startRedis();
const folder = await Deno.makeTempDir({ prefix: "jobs-bench-" });
await Deno.writeTextFile(`${folder}/noop.py`, "def noop():\n    pass\n");

async function run(program: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args], cwd: folder }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

const script = new URL("./horses.ts", import.meta.url).pathname;
const [deno, ...args] = denoCommand("run", "-A", script, redis.url, ours, "2");
const { drainPerSecond } = JSON.parse(await run(deno, args));

// Debian's Python has it, whichever Python comes first on PATH.
await run("/usr/bin/python3", [
  "-c",
  `from redis import Redis; from rq import Queue; import noop
queue = Queue(connection=Redis.from_url("${redis.url}"))
for _ in range(${Number(theirs)}): queue.enqueue(noop.noop)`,
]);
const start = performance.now();
// Two workers, for our two work horses.
const worker = ["worker", "--burst", "--quiet", "--path", folder, "--url", redis.url];
await Promise.all([run("/usr/bin/rq", worker), run("/usr/bin/rq", worker)]);
const rqPerSecond = Math.round(Number(theirs) / (performance.now() - start) * 1000);
console.log(JSON.stringify({ jobsPerSecond: drainPerSecond, rqPerSecond }));
await Deno.remove(folder, { recursive: true });
