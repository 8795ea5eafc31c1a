/**
 * Ruby's Sidekiq and `jobs` on one Redis: each runs the jobs of the other, and Sidekiq's API reads and edits the data of jobs.
 * On real processes.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs, JobsProcess } from "../support/process.ts";
import { type RedisServer, startRedis } from "../support/redis.ts";
import { ruby, Sidekiq } from "./ruby.ts";

const HANDLERS = new URL("./handlers.js", import.meta.url).pathname;

/** A worker with handlers for the classes of the Ruby workers. */
async function startJobs(bench: Bench, args: readonly string[]): Promise<JobsProcess> {
  const server = new JobsProcess({ store: bench.url, args: [HANDLERS, ...args] });
  await server.logged("Ready");
  return server;
}

/** A new Redis, and a bench on it. */
async function openBench(): Promise<{ redis: RedisServer; bench: Bench } & AsyncDisposable> {
  const redis = await startRedis();
  const bench = await Bench.open(redis.url);
  return {
    redis,
    bench,
    async [Symbol.asyncDispose]() {
      await bench[Symbol.asyncDispose]();
      await redis[Symbol.asyncDispose]();
    },
  };
}

Deno.test("Ruby pushes now, later and in bulk, and jobs runs it", async () => {
  await using t = await openBench();
  const { bench, redis } = t;
  const jids = await ruby<{ now: string; later: string; bulk: string[] }>(
    redis.url,
    `file = args[0]
     { now: Note.perform_async(file),
       later: Note.perform_in(0.4, file),
       bulk: Sidekiq::Client.push_bulk("class" => Note, "args" => (1..1500).map { [file] }) }`,
    bench.notes,
  );
  await using _server = await startJobs(bench, ["-c", "5"]);
  const all = [jids.now, jids.later, ...jids.bulk];
  await bench.until(async () => (await bench.readNotes()).length >= all.length, "all are done");
  assertEquals((await bench.readNotes()).sort(), all.sort());
  await bench.until(async () => (await bench.store.admin.stats()).processed === all.length);
});

Deno.test("jobs pushes now, later and in bulk, and Ruby runs it, arguments unchanged", async () => {
  await using t = await openBench();
  const { bench, redis } = t;
  const args = [1, 1.5, true, null, "é\n\u2028<", [1, [2]], { a: { b: "c" } }];
  await bench.push("Echo", [bench.notes, ...args]);
  const raw = '{"class":"Echo","args":["FILE",1.0,12345678901234567890],"queue":"default","jid":"a"}';
  await bench.store.jobs.enqueue([{ jid: "a", queue: "default", payload: raw.replace("FILE", bench.notes) }]);
  const now = await bench.push("Note", [bench.notes]);
  const later = await bench.push("Note", [bench.notes], { in: 0.4 });
  const bulk = await bench.client.pushBulk({ class: "Note", args: Array.from({ length: 50 }, () => [bench.notes]) });
  await using _sidekiq = await Sidekiq.start(redis.url, ["default"]);
  await bench.until(async () => (await bench.readNotes()).length >= 54, "all are done");
  const notes = await bench.readNotes();
  assert(notes.includes(JSON.stringify(args)), notes[0]);
  assert(notes.includes("[1.0,12345678901234567890]"));
  for (const jid of [now, later, ...bulk.map((result) => result.jid)]) assert(notes.includes(jid!));
});

Deno.test("Ruby's API reads workers, running jobs, counts, queues, retries and dead jobs of jobs", async () => {
  await using t = await openBench();
  const { bench, redis } = t;
  const server = await startJobs(bench, ["-c", "3", "-q", "default,2", "-q", "low,1"]);
  await using _server = server;
  const waiting = await bench.push("Wait", [bench.notes]);
  await bench.noted(`start ${waiting}`);
  await bench.push("Note", [bench.notes]);
  const failing = await bench.push("Fail", ["<b>no</b> luck"], { retry: 25 });
  const doomed = await bench.push("Fail", ["really not"], { retry: 0 });
  const scheduled = await bench.push("Note", [bench.notes], { in: 3_600, queue: "low" });
  await bench.store.jobs.enqueue([{
    jid: "q1",
    queue: "other",
    payload: '{"class":"Note","args":[1],"queue":"other","jid":"q1","created_at":1700000000.5}',
  }]);
  await bench.until(async () => {
    const { retry, dead, processed } = await bench.store.admin.stats();
    return retry === 1 && dead === 1 && processed === 3;
  });
  // After one heartbeat.
  await bench.until(async () => (await bench.store.workers.list())[0]?.busy === 1);
  const seen = await ruby<Record<string, unknown>>(
    redis.url,
    `stats = Sidekiq::Stats.new
     processes = Sidekiq::ProcessSet.new
     { stats: [stats.processed, stats.failed, stats.enqueued, stats.scheduled_size, stats.retry_size, stats.dead_size,
         stats.processes_size, stats.workers_size, stats.queues],
       history: Sidekiq::Stats::History.new(2).processed.values.sum,
       processes: processes.map { |p| [p.identity, p["pid"], p["concurrency"], p.queues, p["busy"], p.stopping?,
         p["started_at"].class.name, Time.now.to_f - p["started_at"], Time.now.to_f - p["beat"], p["rss"] > 1000, p.tag, p.labels] },
       concurrency: processes.total_concurrency,
       work: Sidekiq::Workers.new.map { |pid, tid, w| [pid, tid, w["queue"], w["payload"]["jid"], Time.now.to_i - w["run_at"]] },
       queue: Sidekiq::Queue.new("other").map { |j| [j.jid, j.klass, j.args, j.created_at.class.name, j.latency < 60] },
       retry: Sidekiq::RetrySet.new.map { |j| [j.jid, j.klass, j["error_class"], j["error_message"], j["retry_count"],
         j.at.to_f > Time.now.to_f, j["failed_at"].class.name, j.error_backtrace.class.name, j.queue] },
       dead: Sidekiq::DeadSet.new.map { |j| [j.jid, j["error_message"], Time.now.to_f - j.at.to_f < 60] },
       scheduled: Sidekiq::ScheduledSet.new.map { |j| [j.jid, j.queue, (j.at.to_f - Time.now.to_f).round(-2), j.key?("at") ] } }`
      .replace('j.key?("at")', 'j.item.key?("at")'),
  ) as {
    stats: unknown[];
    history: number;
    processes: [[string, number, number, string[], number, boolean, string, number, number, boolean, string, string[]]];
    concurrency: number;
    work: [[string, string, string, string, number]];
    queue: unknown[];
    retry: unknown[];
    dead: unknown[];
    scheduled: unknown[];
  };
  assertEquals(seen.stats, [3, 2, 1, 1, 1, 1, 1, 1, { default: 0, other: 1 }]);
  assertEquals(seen.history, 3, "of two days: it does not matter when the day changes");
  const [[identity, pid, concurrency, queues, busy, quiet, type, age, beatAge, rss, , labels]] = seen.processes;
  assertMatch(identity, /^[^:]+:\d+:[0-9a-f]{12}$/);
  assertEquals([pid, concurrency, queues.sort(), busy, quiet, type, rss], [
    server.pid,
    3,
    ["default", "low"],
    1,
    false,
    "Float",
    true,
  ]);
  assert(Array.isArray(labels));
  assertAlmostEquals(age, 30, 60);
  assertAlmostEquals(beatAge, 0, 10);
  assertEquals(seen.concurrency, 3);
  const [[workIdentity, , queue, jid, workAge]] = seen.work;
  assertEquals([workIdentity, queue, jid], [identity, "default", waiting]);
  assertAlmostEquals(workAge, 0, 60);
  assertEquals(seen.queue, [["q1", "Note", [1], "Time", true]]);
  assertEquals(seen.retry, [[
    failing,
    "Fail",
    "RangeError",
    "<b>no</b> luck",
    0,
    true,
    "Float",
    "Array",
    "default",
  ]]);
  assertEquals(seen.dead, [[doomed, "really not", true]]);
  assertEquals(seen.scheduled, [[scheduled, "low", 3600, false]]);
});

Deno.test("Ruby retries, kills, enqueues, deletes and clears jobs of jobs", async () => {
  await using t = await openBench();
  const { bench, redis } = t;
  const schedule = (n: number) => bench.push("Note", [bench.notes, `n${n}`], { in: 3_600 });
  const jids = [];
  for (let n = 0; n < 4; n++) jids.push(await schedule(n));
  const entries = (await bench.store.admin.page({ in: "scheduled" })).entries;
  await bench.store.jobs.edit([entries[2]!.ref, entries[3]!.ref], "kill");
  for (let n = 10; n < 13; n++) await bench.push("Note", [bench.notes, `n${n}`], { queue: "other" });
  const done = await ruby(
    redis.url,
    `scheduled = Sidekiq::ScheduledSet.new
     dead = Sidekiq::DeadSet.new
     scheduled.find_job(args[0]).add_to_queue
     scheduled.find_job(args[1]).delete
     dead.find_job(args[2]).retry
     dead.find_job(args[3]).delete
     queue = Sidekiq::Queue.new("other")
     queue.find { |job| job.args[1] == "n11" }.delete
     [scheduled.size, dead.size, queue.map { |job| job.args[1] }, Sidekiq::Queue.new("default").size]`,
    ...jids,
  );
  assertEquals(done, [0, 0, ["n12", "n10"], 2]);
  await using _server = await startJobs(bench, ["-q", "default", "-q", "other"]);
  await bench.until(async () => (await bench.readNotes()).length >= 4);
  assertEquals((await bench.readNotes()).sort(), ["n0", "n10", "n12", "n2"]);
  assertEquals(await ruby(redis.url, `Sidekiq::Queue.new("other").clear; Sidekiq::Queue.all.map(&:name).sort`), [
    "default",
  ]);
});

Deno.test("jobs retries a job that failed in Ruby, and Ruby retries a job that failed in jobs", async () => {
  await using t = await openBench();
  const { bench, redis } = t;
  const jid = await ruby<string>(redis.url, `Fail.set(retry: 3).perform_async("from Ruby")`);
  {
    await using _sidekiq = await Sidekiq.start(redis.url, ["default"]);
    await bench.until(async () => (await bench.store.admin.stats()).retry === 1, "it has failed in Ruby");
  }
  const [inRuby] = (await bench.store.admin.page({ in: "retry" })).entries;
  assertEquals(JSON.parse(inRuby!.payload).retry_count, 0);
  await bench.store.jobs.edit([inRuby!.ref], "requeue");
  {
    await using _server = await startJobs(bench, ["-c", "1"]);
    await bench.until(async () => {
      const [entry] = (await bench.store.admin.page({ in: "retry" })).entries;
      return entry !== undefined && JSON.parse(entry.payload).failed_at > JSON.parse(inRuby!.payload).failed_at;
    }, "it has failed in jobs");
  }
  const fields = await ruby<unknown[]>(
    redis.url,
    `job = Sidekiq::RetrySet.new.first
     [job.jid, job["retry_count"], job["error_class"], job["error_message"], job["failed_at"].class.name]`,
  );
  assertEquals(fields, [jid, 0, "RangeError", "from Ruby", "Float"]);
  await ruby(redis.url, `Sidekiq::RetrySet.new.retry_all`);
  await using _sidekiq = await Sidekiq.start(redis.url, ["default"]);
  await bench.until(async () =>
    (await bench.store.admin.stats()).retry === 1 && (await bench.store.admin.stats()).enqueued === 0
  );
});

Deno.test("Ruby quiets, dumps and stops a worker of jobs", async () => {
  await using t = await openBench();
  const { bench, redis } = t;
  const server = await startJobs(bench, ["-c", "1"]);
  await using _server = server;
  await ruby(redis.url, `Sidekiq::ProcessSet.new.first.quiet!`);
  await bench.until(async () => (await bench.store.workers.list())[0]?.quiet === true, "it is quiet");
  assertEquals(await ruby(redis.url, `Sidekiq::ProcessSet.new.first.stopping?`), true);
  await bench.push("Note", [bench.notes]);
  await ruby(redis.url, `Sidekiq::ProcessSet.new.first.stop!`);
  assertEquals((await server.status()).code, 0);
  assertEquals(await bench.readNotes(), []);
  assertEquals(await ruby(redis.url, `[Sidekiq::ProcessSet.new.size, Sidekiq::Queue.new.size]`), [0, 1]);
});

Deno.test("jobs quiets and stops a Sidekiq process", async () => {
  await using t = await openBench();
  const { bench, redis } = t;
  await using _sidekiq = await Sidekiq.start(redis.url, ["default"]);
  await bench.until(async () => (await bench.store.workers.list()).length === 1, "it is registered");
  const [worker] = await bench.store.workers.list();
  assertEquals([worker!.alive, worker!.concurrency, worker!.queues], [true, 2, ["default"]]);
  assertEquals(await bench.store.workers.send(worker!.id, { verb: "quiet" }), true);
  assertEquals(await redis.cli("LRANGE", `${worker!.id}-signals`, "0", "-1"), "TSTP");
});

Deno.test("jobs shows the running jobs, dumps and counts of a Sidekiq process", async () => {
  await using t = await openBench();
  const { bench, redis } = t;
  const run = (...args: string[]) => jobs([...args, "--store", bench.url]);
  await using _sidekiq = await Sidekiq.start(redis.url, ["default"]);
  const jid = await bench.push("Listen", [bench.notes]);
  await bench.noted(`start ${jid}`);
  await bench.until(async () => (await bench.store.workers.list())[0]?.busy === 1, "it has said what it performs");
  const [worker] = await bench.store.workers.list();

  const busy = await run("list", "running");
  assertEquals([busy.code, busy.stdout], [0, "No running jobs\n"]);
  assertEquals(busy.stderr, "jobs: 1 more run in Sidekiq's workers (jobs workers --json)\n");

  const dump = await run("dump", worker!.id);
  assertEquals([dump.code, dump.stdout], [0, ""]);
  const { id } = worker!;
  const elsewhere = "it writes the dump of its threads to Sidekiq's log";
  assertEquals(dump.stderr, `jobs: ${id} is a worker of Sidekiq: ${elsewhere}\n`);

  const waiting = run("push", "Note", bench.notes, "done", "--wait", "--wait-timeout", "2s");
  await bench.noted("done");
  assertMatch((await waiting).stderr, / left no record: it was deleted, or a worker of Sidekiq runs it\n$/);
  assertEquals((await waiting).code, 1);
  await bench.go();
  await bench.noted(`end ${jid}`);
});

Deno.test("a Sidekiq process and a worker of jobs share a queue and perform each job once", async () => {
  await using t = await openBench();
  const { bench, redis } = t;
  const total = 3_000;
  await using _sidekiq = await Sidekiq.start(redis.url, ["default"]);
  await using _server = await startJobs(bench, ["-c", "2"]);
  const results = await bench.client.pushBulk({
    class: "Note",
    args: Array.from({ length: total }, () => [bench.notes]),
  });
  await bench.until(async () => (await bench.readNotes()).length >= total, "all are done");
  assertEquals((await bench.readNotes()).sort(), results.map((result) => result.jid!).sort());
});
