/** A job that keeps killing its workers is dead, and shown everywhere. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Client, defineJob, type ServerSettings, startServer, WorkerDied } from "../../src/mod.ts";
import { readWireTime } from "../../src/job/raw.ts";
import { takeUpTo, workerRecord } from "../store_contract/jobs.ts";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { ruby } from "../interop/ruby.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { StepLease } from "../../src/store/port/steps.ts";

const DEAD_WORKER = "host:1:aaaaaaaaaaaa";
/** A worker with a short heartbeat timeout. */
const settings = (file: string): ServerSettings => ({
  heartbeat: "50ms",
  heartbeatTimeout: "400ms",
  log: { format: "json", level: "info", file },
});

/** Lets a worker die while it runs a job that was to blame twice. Returns the jid. */
async function blame(
  store: Store,
  fields: Record<string, unknown> = {},
  perform: (lease: StepLease) => Promise<unknown> = () => Promise.resolve(),
): Promise<string> {
  await store.workers.heartbeat(workerRecord(DEAD_WORKER), 1);
  const jid = await new Client({ store }).push({ class: "Crash", args: [1], suspected: 1, rescues: 2, ...fields });
  const [lease] = await takeUpTo(store, DEAD_WORKER);
  await perform({ worker: DEAD_WORKER, token: lease!.token, jid: jid! });
  await store.workers.note(DEAD_WORKER, { running: { tokens: [lease!.token], alone: true } });
  await store.workers.note(DEAD_WORKER, { ended: "killed by signal 9 (SIGKILL)" });
  return jid!;
}

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`a job that killed its workers is dead with an error and a record, its hook is called, and the log names it, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const jid = await blame(bench.store);
    const told: unknown[] = [];
    const file = `${bench.folder}/log`;
    const server = await startServer({
      store: bench.url,
      settings: settings(file),
      hooks: { death: ({ jid }, error) => told.push(jid, error) },
    });
    const ended = await bench.client.result(jid);
    await server.stop();

    const message = "Worker died 3 times while running it: killed by signal 9 (SIGKILL)";
    assertEquals([ended!.state, ended!.worker, ended!.class], ["dead", DEAD_WORKER, "Crash"]);
    assertEquals(ended!.error, { class: "WorkerDied", message });
    assertEquals(ended!.startedAt, undefined);

    const [entry] = (await bench.store.admin.page({ in: "dead" })).entries;
    const payload = JSON.parse(entry!.payload);
    assertEquals([payload.jid, payload.queue, payload.args], [jid, "default", [1]]);
    assertEquals([payload.error_class, payload.error_message, payload.retry_count], ["WorkerDied", message, 0]);
    assert(readWireTime(payload.failed_at) !== undefined);
    assertEquals([payload.rescues, payload.enqueued_at], [3, undefined]);
    const { failed, running, workers } = await bench.store.admin.stats();
    assertEquals({ failed, running, workers }, { failed: 1, running: 0, workers: 0 });

    assertEquals(told[0], jid);
    assert(told[1] instanceof WorkerDied);
    assertEquals([told[1].message, told.length], [message, 2]);
    const lines = (await Deno.readTextFile(file)).trim().split("\n").map((line) => JSON.parse(line));
    const { level, class: name, jid: named, error } = lines.find(({ msg }) => msg === "Failed for good, moved to dead");
    assertEquals([level, name, named, error], ["error", "Crash", jid, `WorkerDied: ${message}`]);
    const rescued = lines.find(({ msg }) => msg === "Rescued jobs of offline workers");
    assertEquals([rescued.rescued, rescued.buried], [0, 1]);

    const listed = await jobs(["list", "dead", "--store", bench.url]);
    assertMatch(listed.stdout, /Crash\(1\).*WorkerDied: Worker died 3 times/);
  });
}

Deno.test("such a job is shown like any other dead job: in the dashboard, in /metrics, and to Sidekiq", async () => {
  await using redis = await startRedis();
  await using bench = await Bench.open(redis.url);
  const jid = await blame(bench.store);
  const environment = { JOBS_HEARTBEAT_TIMEOUT: "3s", JOBS_HEARTBEAT: "100ms" };
  await using server = await bench.server(["--web", "0"], environment);
  const { web } = await server.logged("Ready");
  await server.logged("Failed for good, moved to dead", { jid });
  const page = async (path: string) => await (await fetch(`${web}${path}`)).text();

  const dead = await page("dead");
  assertStringIncludes(dead, jid);
  assertStringIncludes(dead, "Worker died 3 times while running it");
  assertStringIncludes(await page(`jobs/${jid}`), "killed by signal 9 (SIGKILL)");

  const metrics = await page("metrics");
  assertMatch(metrics, /^jobs_dead_by_crashes_total(\{[^}]*\})? 1$/m);
  assertMatch(metrics, /^jobs_performed_total\{[^}]*class="Crash"[^}]*outcome="failed"[^}]*\} 1$/m);
  assertMatch(metrics, /^jobs_ended_total\{[^}]*class="Crash"[^}]*"dead"[^}]*\} 1$/m);

  const seen = await ruby(
    redis.url,
    `stats = Sidekiq::Stats.new
     { stats: [stats.failed, stats.dead_size],
       dead: Sidekiq::DeadSet.new.map { |j| [j.jid, j.klass, j.queue, j["error_class"], j["error_message"], j["failed_at"].class.name] } }`,
  );
  assertEquals(seen, {
    stats: [1, 1],
    dead: [[
      jid,
      "Crash",
      "default",
      "WorkerDied",
      "Worker died 3 times while running it: killed by signal 9 (SIGKILL)",
      "Float",
    ]],
  });
});

Deno.test("such a job is dropped if it has dead: false", async () => {
  await using bench = await Bench.open();
  const jid = await blame(bench.store, { dead: false });
  const server = await startServer({ store: bench.url, settings: settings(`${bench.folder}/log`) });
  assertEquals((await bench.client.result(jid))!.state, "failed");
  await server.stop();
  assertEquals((await bench.store.admin.page({ in: "dead" })).entries, []);
});

Deno.test("--processes reports how the worker was killed", async () => {
  await using bench = await Bench.open();
  // The job has been to blame twice already: this death is the last.
  const jid = await bench.push("Crash", [bench.notes], { suspected: 1, rescues: 2 });
  const args = ["--processes", "2", "-c", "5"];
  await using _workers = await bench.server(args, { JOBS_HEARTBEAT_TIMEOUT: "5s", JOBS_HEARTBEAT: "200ms" }, false);
  const ended = await bench.client.result(jid);
  assertEquals(ended!.error!.message, "Worker died 3 times while running it: killed by signal 9 (SIGKILL)");
  assertEquals(await bench.readNotes(), [`start ${jid}`]);
});

Deno.test("a burst worker waits for jobs that are about to be rescued", async () => {
  await using bench = await Bench.open();
  await bench.store.workers.heartbeat(workerRecord(DEAD_WORKER), 1);
  const jid = await bench.push("Note", [bench.notes]);
  await takeUpTo(bench.store, DEAD_WORKER);
  const env = { JOBS_HEARTBEAT_TIMEOUT: "600ms", JOBS_HEARTBEAT: "100ms" };
  await using worker = await bench.server(["--burst"], env);
  assertEquals((await worker.status()).code, 0);
  assertEquals(await bench.readNotes(), [jid]);
});

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`a buried job keeps its steps for a retry by an operator, a discarded one loses them, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const record = `{"state":"succeeded","since":1,"ended":2,"kind":"step","attempts":1,"value":"first"}`;
    const charge = (lease: StepLease) => bench.store.steps.remember(lease, { name: "charge", record });
    const Crash = defineJob("Crash", (ctx) => ctx.step("charge", () => "second"));

    const started = () => startServer({ store: bench.url, jobs: [Crash], settings: settings(`${bench.folder}/log`) });

    const jid = await blame(bench.store, {}, charge);
    {
      await using _server = await started();
      assertEquals((await bench.client.result(jid))?.state, "dead");
      const [dead] = (await bench.store.admin.page({ in: "dead" })).entries;
      await bench.store.jobs.edit([dead!.ref], "requeue");
      await bench.until(async () => (await bench.client.result(jid))?.result === "first", "it has ended");
      assertEquals(await bench.store.steps.read(jid), []);
    }

    // Without a server: it would take the job.
    const discarded = await blame(bench.store, { dead: false }, charge);
    await using _server = await started();
    assertEquals((await bench.client.result(discarded))?.state, "failed");
    assertEquals(await bench.store.steps.read(discarded), []);
  });
}
