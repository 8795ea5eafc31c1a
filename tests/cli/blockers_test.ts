/** The reasons why a job doesn't run: push and doctor report the same. */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { register, takeUpTo, workerRecord } from "../store_contract/jobs.ts";
import { RUN_BOUNDS_MS } from "../../src/store/port/metrics.ts";
import { createWeb } from "../../src/web/web.ts";
import { Visitor } from "../web/site.ts";

Deno.test("reports in push and doctor that a queue is paused, its workers are quiet, or a class has no handler", async () => {
  await using bench = await Bench.open((folder) => `sqlite:${folder}/jobs.db`);
  const { store } = bench;
  const beat = (more: Parameters<typeof workerRecord>[1]) =>
    store.workers.heartbeat(
      workerRecord("host:1:aaaaaaaaaaaa", { queues: ["default"], classes: ["Now"], heartbeatMs: 600_000, ...more }),
      600_000,
    );
  const env = { JOBS_STORE: bench.url };
  const push = async (name: string) => (await jobs(["push", name], { env, cwd: bench.folder })).stderr.trim();
  const doctor = async () => {
    const { stdout } = await jobs(["doctor", "--measure", "0s", "--json"], { env, cwd: bench.folder });
    const found: { readonly check: string; readonly message: string }[] = JSON.parse(stdout).findings;
    // On a slow machine, the first jobs have waited for long by then.
    return found.filter(({ check, message }) =>
      ["workers", "queues", "jobs"].includes(check) && !message.includes(" behind ")
    )
      .map(({ message }) => message.replaceAll(/[\d.]+m?s/g, "3s"));
  };
  await store.classes.declare([{ name: "Now", options: "{}" }, { name: "Once", options: "{}" }]);

  await beat({});
  assertEquals(await push("Now"), "");
  const online = "1 online, as of 3s ago";
  assertEquals(await doctor(), [online]);
  assertEquals(
    await push("Once"),
    'jobs: enqueued, but it waits: no worker of queue "default" has a handler for class "Once"',
  );
  assertEquals(await doctor(), [
    online,
    'No worker of queue "default" has a handler for Once. Its jobs wait for one, for 3s. host:1:aaaaaaaaaaaa takes them and lacks ' +
    "the class: start a worker whose handlers include Once.",
  ]);

  await beat({ quiet: true });
  assertEquals(
    await push("Now"),
    'jobs: enqueued, but all workers of queue "default" are quiet; jobs resume --all-workers resumes them',
  );
  assertEquals(await doctor(), [online, "All workers are quiet: no job is fetched"]);

  await beat({ quiet: true, stopping: true });
  assertEquals(
    await push("Now"),
    'jobs: enqueued, but all workers of queue "default" are stopping; start one: jobs run handlers.js -q default',
  );
  assertEquals(await doctor(), [online, "All workers are stopping: no job is fetched"]);
  const { stdout: listed } = await jobs(["workers"], { env, cwd: bench.folder });
  assertMatch(listed, / stopping /);

  await store.admin.configure("default", { pause: true });
  assertEquals(await push("Now"), 'jobs: enqueued, but queue "default" is paused; jobs resume default resumes it');
  assertMatch((await doctor()).at(-1)!, /^Queue "default" is paused \(5 jobs waiting[,)]/);
});

Deno.test("doctor, workers and show name a job that blocks its worker, one that ignores its signal, and the longest of a queue that is behind", async () => {
  await using bench = await Bench.open((folder) => `sqlite:${folder}/jobs.db`);
  const { store } = bench;
  const env = { JOBS_STORE: bench.url };
  const run = async (...args: string[]) => (await jobs(args, { env, cwd: bench.folder })).stdout;
  const since = Date.now() - 120_000;
  const job = (abortReason?: string) => ({
    ...{ task: "processor-1", queue: "default", payload: '{"class":"Hang","jid":"h1"}', since },
    ...(abortReason !== undefined && { abortReason }),
  });
  const beat = (more: Parameters<typeof workerRecord>[1]) =>
    store.workers.heartbeat(
      workerRecord("host:1:aaaaaaaaaaaa", { queues: ["default"], concurrency: 1, ...more }),
      600_000,
    );
  await beat({});
  const jid = await bench.push("Mail", []);
  assertEquals((await run("doctor", "--measure", "0s")).includes("Hang"), false);

  await beat({ blocked: { since, task: "processor-1", class: "Hang", jid: "h1" }, busy: 1, work: [job()] });
  assertMatch(await run("doctor", "--measure", "0s"), /Hang h1 blocks the event loop of host:1:aaaaaaaaaaaa, for 2m/);
  assertMatch(await run("workers"), /host:1:aaaaaaaaaaaa +1\/1 +blocked/);
  assertMatch(await run("show", jid), /Hang h1 blocks the event loop of host:1:aaaaaaaaaaaa, for 2m/);
  const [worker] = JSON.parse(await run("workers", "--json")).workers;
  assertEquals([worker.state, worker.blocked.class, worker.blocked.jid], ["blocked", "Hang", "h1"]);

  await beat({ busy: 1, work: [job("Cancelled")] });
  assertMatch(
    await run("doctor", "--measure", "0s"),
    /Hang h1 on host:1:aaaaaaaaaaaa ignores its signal \(Cancelled\) and has run for 2m/,
  );

  await beat({ busy: 1, work: [job()] });
  assertMatch(await run("show", jid), /The longest: Hang h1 has run for 2m/);
});

Deno.test("show, the API and the page say that a running job takes far longer than its class, and what helps", async () => {
  await using bench = await Bench.open((folder) => `sqlite:${folder}/jobs.db`);
  const { store } = bench;
  const worker = await register(store);
  const jid = await bench.push("Report", []);
  const [lease] = await takeUpTo(store, worker, 1);
  const beat = (ageMs: number) => {
    const work = [{ task: "processor-1", queue: "default", payload: lease!.payload, since: Date.now() - ageMs }];
    return store.workers.heartbeat(workerRecord(worker, { concurrency: 1, busy: 1, work }), 600_000);
  };
  await using web = createWeb({ store });
  const visitor = new Visitor(web, "127.0.0.1");
  // Each of them looks at a different moment.
  const still = (why: readonly string[]) =>
    why.map((one) => one.replace(/for \S+ on/, "for 1h on").replaceAll(jid, "JID"));
  const whys = async () => {
    const { stdout } = await jobs(["show", jid, "--json"], { env: { JOBS_STORE: bench.url }, cwd: bench.folder });
    const why = still(JSON.parse(stdout).why);
    assertEquals(still((await visitor.api("GET", `/jobs/${jid}`)).value.jobs[0].why), why);
    const { text } = await visitor.visit(`/jobs/${jid}`);
    assertEquals(text.includes("Why it hasn&#39;t ended"), why.length > 0, "the page");
    return why;
  };
  const rest = `: jobs dump ${worker} (the dump shows what it does, and jobs cancel JID ends it; ` +
    "a timeout for the class ends such jobs).";

  await beat(11_000);
  assertEquals(await whys(), [], "nothing is known about its class yet");
  await beat(3_600_000);
  const unknown = "and too few jobs of its class have succeeded in the last day to compare it";
  assertEquals(await whys(), [`Report JID has run for 1h on ${worker}, ${unknown}${rest}`]);

  const histogram = new Array(RUN_BOUNDS_MS.length + 1).fill(0).with(16, 40); // 8.5 to 13 s
  await store.series.add("classes", [{ class: "Report", processed: 40, failed: 0, workedMs: 400_000, histogram }]);
  await beat(60_000);
  assertEquals(await whys(), [], "ten times as long isn't far longer yet");
  await beat(3_600_000);
  assertEquals(await whys(), [`Report JID has run for 1h on ${worker}, while 99 % of its class end within 13s${rest}`]);
});

Deno.test("reports a queue at its limit in doctor, as ok", async () => {
  await using bench = await Bench.open((folder) => `sqlite:${folder}/jobs.db`);
  const { store } = bench;
  const queues = async () => {
    const { code, stdout } = await jobs(["doctor", "--measure", "0s", "--json"], {
      env: { JOBS_STORE: bench.url },
      cwd: bench.folder,
    });
    assertEquals(code, 0);
    const found: { readonly check: string; readonly state: string; readonly message: string }[] =
      JSON.parse(stdout).findings;
    return found.filter(({ check }) => check === "queues")
      .map(({ state, message }) => `${state}: ${message.replace(/\S+ old,/, "3s old,")}`);
  };
  const worker = await register(store);
  await store.admin.configure("default", { limit: { running: 1 } });
  for (let i = 0; i < 3; i++) await bench.push("Now", []);
  assertEquals(await queues(), []);
  await takeUpTo(store, worker, 1);
  assertEquals(await queues(), [
    'ok: queue "default" has 2 jobs, the oldest 3s old, and is at its limit: 1 of 1 running',
  ]);
});

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`show and the API name the class of a child that no worker performs, of the job that waits for it, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis ? () => redis.url : (folder) => `sqlite:${folder}/jobs.db`);
    const module = `${bench.folder}/handlers.js`;
    await Deno.writeTextFile(module, 'export const Order = (ctx) => ctx.run("invoice", "Invoice", [7]);\n');
    await using worker = await bench.server([module, "-q", "default", "--web", "0"]);
    const jid = await bench.push("Order", []);
    await bench.until(async () => (await bench.store.admin.stats()).waits.child === 1, "it waits for its child");
    const { stdout } = await jobs(["show", jid, "--json"], { env: { JOBS_STORE: bench.url }, cwd: bench.folder });
    const url = (await worker.logged("Ready"))["web"];
    const found = await (await fetch(`${url}api/v1/jobs/${jid}`)).json();
    for (const text of [stdout, JSON.stringify(found)]) {
      assertMatch(text, /Step \\"invoice\\" waits for job (\w+) of class Invoice, until /);
      assertMatch(text, /Job \w+: No worker of queue \\"default\\" has a handler for Invoice: it waits for one\./);
    }
  });
}
