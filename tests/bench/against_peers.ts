/**
 * No-op jobs on the same Redis, ours and those of the peers that are available here, one after the other, several rounds:
 * Debian's Sidekiq (`ruby-sidekiq`) and BullMQ (from npm, on Node). One process each, 10 jobs at once, everything pushed
 * beforehand. Peers are measured from the first job to the last, ours from before its start to after its stop. Prints one
 * line of JSON: jobs/s, the median of the rounds.
 *
 *     deno run -A tests/bench/against_peers.ts [JOBS] [ROUNDS]
 */
import { startRedis } from "../support/redis.ts";

const [jobs = "100000", rounds = "3"] = Deno.args;
const BULLMQ = ["bullmq@6.7.0", "ioredis@6.0.0"];
const ROOT = new URL("../../", import.meta.url).pathname;
await using redis = await startRedis();
const folder = await Deno.makeTempDir({ prefix: "jobs-bench-" });

await Deno.writeTextFile(
  `${folder}/noop.rb`,
  `require "sidekiq"
$left = Integer(ENV.fetch("JOBS")); $lock = Mutex.new; $start = nil
class Noop
  include Sidekiq::Worker
  def perform(*)
    now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    left = $lock.synchronize { $start ||= now; $left -= 1 }
    return if left > 0
    File.write(ENV.fetch("ANSWER"), (now - $start).to_s)
    exit!(0)
  end
end
`,
);
await Deno.writeTextFile(
  `${folder}/noop.cjs`,
  `const { Queue, Worker } = require("bullmq");
const connection = { url: process.env.REDIS_URL, maxRetriesPerRequest: null };
const total = Number(process.env.JOBS);
(async () => {
  const queue = new Queue("noop", { connection, defaultJobOptions: { removeOnComplete: true } });
  for (let i = 0; i < total; i += 1000) {
    await queue.addBulk(Array.from({ length: 1000 }, (_, j) => ({ name: "Noop", data: ["bob", i + j] })));
  }
  let left = total, start;
  new Worker("noop", async () => {
    start ??= performance.now();
    if (--left > 0) return;
    console.log((performance.now() - start) / 1000);
    process.exit();
  }, { connection, concurrency: 10 });
})();
`,
);

async function run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    cwd: folder,
    env: { REDIS_URL: redis.url, JOBS: jobs, RUBYOPT: "-W0", ...env },
    stdin: "null",
  }).output();
  if (code !== 0) throw new Error(`${program}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trim().split("\n").at(-1)!;
}

const SYSTEMS: Readonly<Record<string, () => Promise<number>>> = {
  async jobs() {
    const script = [`--config=${ROOT}deno.json`, `${ROOT}tests/bench/drain.ts`];
    return JSON.parse(await run(Deno.execPath(), ["run", "-A", ...script, redis.url, jobs])).drainPerSecond;
  },
  async sidekiq() {
    const push = `(0...${jobs}).each_slice(1000) { |part|
      Sidekiq::Client.push_bulk("class" => "Noop", "args" => part.map { |i| ["bob", i] }) }`;
    await run("ruby", ["-r", "sidekiq", "-e", push]);
    const answer = `${folder}/answer`;
    await run("sidekiq", ["-r", `${folder}/noop.rb`, "-c", "10", "-q", "default"], { ANSWER: answer });
    return Number(jobs) / Number(await Deno.readTextFile(answer));
  },
  async bullmq() {
    return Number(jobs) / Number(await run("node", ["noop.cjs"]));
  },
};

await run("npm", ["install", "--silent", "--no-audit", "--no-fund", ...BULLMQ]);
const rates = new Map(Object.keys(SYSTEMS).map((name) => [name, [] as number[]]));
for (let round = 0; round < Number(rounds); round++) {
  for (const [name, measure] of Object.entries(SYSTEMS)) {
    await redis.cli("FLUSHALL");
    rates.get(name)!.push(await measure());
  }
}
const middle = (of: readonly number[]) => Math.round(of.toSorted((a, b) => a - b)[Math.floor(of.length / 2)]!);
console.log(JSON.stringify({ jobs: Number(jobs), ...Object.fromEntries([...rates].map(([k, v]) => [k, middle(v)])) }));
await Deno.remove(folder, { recursive: true });
