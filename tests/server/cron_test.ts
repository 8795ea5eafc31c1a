/** Cron entries in real workers that are killed and started. */
import { logTexts } from "../store_contract/jobs.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { CronEntryInput } from "../../src/cron/entry.ts";
import { Bench } from "../support/bench.ts";
import { JobsProcess } from "../support/process.ts";
import { type RedisServer, startRedis } from "../support/redis.ts";

const HANDLERS = new URL("../support/cron_handlers.js", import.meta.url).pathname;
/** The number of starts and kills. The soak (`tests/soak/`) continues for minutes. */
const STORM_STEPS = 24;

/** A worker with this crontab in its configuration. */
function serve(bench: Bench, crontab: readonly CronEntryInput[], env: Record<string, string> = {}): JobsProcess {
  return new JobsProcess({
    store: bench.url,
    args: [HANDLERS, "-c", "2"],
    cwd: bench.folder,
    // A busy machine must not make a live worker look offline: its jobs would run twice.
    env: { JOBS_CRON: JSON.stringify(crontab), JOBS_HEARTBEAT_TIMEOUT: "4s", ...env },
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function entry(name: string, more: Partial<CronEntryInput>): CronEntryInput {
  return { name, class: "Tick", ...more };
}

/** Starts and kills workers at random. Once, no worker runs for a while. */
async function storm(count: number, start: () => JobsProcess): Promise<void> {
  const workers: JobsProcess[] = [];
  const kill = async (worker: JobsProcess) => {
    workers.splice(workers.indexOf(worker), 1);
    await worker[Symbol.asyncDispose]();
  };
  try {
    for (let step = 1; step <= STORM_STEPS; step++) {
      if (step === STORM_STEPS / 2) {
        for (const worker of [...workers]) await kill(worker);
        await pause(2_500);
      }
      const victim = workers[Math.floor(Math.random() * count)];
      if (victim !== undefined) await kill(victim);
      else workers.push(start());
      await pause(Math.random() * 1_200);
    }
  } finally {
    for (const worker of [...workers]) await kill(worker);
  }
}

/** Asserts that every second from the first run until `end` was enqueued, as one job each. */
async function assertEachSecondOnce(bench: Bench, end: number): Promise<void> {
  const jobs = new Map<number, Set<string>>();
  const note = (scheduledAt: string, jid: string) => {
    const at = Date.parse(scheduledAt);
    jobs.set(at, (jobs.get(at) ?? new Set()).add(jid));
  };
  for (const line of await bench.readNotes()) note(...line.split(" ") as [string, string]);
  // Jobs whose worker died three times are here.
  for (const { payload } of (await bench.store.admin.page({ in: "dead" }, { limit: 1_000 })).entries) {
    const { jid, occurrence } = JSON.parse(payload);
    note(occurrence.scheduledAt, jid);
  }
  const times = [...jobs.keys()].sort((a, b) => a - b);
  const first = times[0]!;
  assertEquals(times, times.map((_, i) => first + i * 1_000), "each second");
  assertEquals([...jobs].filter(([, jids]) => jids.size !== 1), [], "once");
  assert(times.at(-1)! > end - 1_000, `until the end of the storm: ${times.length} seconds`);
}

async function everySecondOnce(bench: Bench, count: number): Promise<void> {
  const crontab = [entry("second", { every: "1s", args: [bench.notes], catchUp: "all" })];
  const start = () => serve(bench, crontab, { JOBS_LOG_LEVEL: "error" });
  {
    // The kills begin after the first run, however long the first worker takes to start.
    await using _first = start();
    await bench.until(async () => (await bench.readNotes()).length > 0, "the first occurrence");
  }
  await storm(count, start);
  const end = Date.now();
  await using _last = serve(bench, crontab);
  // The first check enqueues all overdue runs.
  await _last.logged("Done");
  await bench.until(async () => {
    const { enqueued, running, retry } = await bench.store.admin.stats();
    return enqueued + running + retry === 0;
  }, "all jobs are done");
  await assertEachSecondOnce(bench, end);
}

async function onRedis(run: (bench: Bench, redis: RedisServer) => Promise<void>): Promise<void> {
  await using redis = await startRedis();
  await using bench = await Bench.open(redis.url);
  await run(bench, redis);
}

async function onSqlite(run: (bench: Bench) => Promise<void>): Promise<void> {
  await using bench = await Bench.open();
  await run(bench);
}

Deno.test("enqueues every second exactly once while 5 workers on Redis and 3 on SQLite are killed and started", async () => {
  await Promise.all([
    onRedis((bench) => everySecondOnce(bench, 5)),
    onSqlite((bench) => everySecondOnce(bench, 3)),
  ]);
});

/** Asserts that no two jobs of the entry ran at once. A job whose worker died begins again. */
function assertOneAtATime(notes: readonly string[]): void {
  let running: string | undefined;
  for (const line of notes) {
    const [what, jid] = line.split(" ");
    if (what === "end") running = undefined;
    else {
      assert(running === undefined || running === jid, `two at once: ${notes.join(", ")}`);
      running = jid;
    }
  }
}

async function singleton(bench: Bench): Promise<void> {
  const crontab = [entry("one", { every: "1s", class: "Once", args: [bench.notes, 1_500], singleton: true })];
  const servers = [serve(bench, crontab), serve(bench, crontab)];
  try {
    for (const server of servers) await server.logged("Ready");
    const notes = async (what: string) => (await bench.readNotes()).filter((line) => line.startsWith(what));
    await bench.until(async () => (await notes("start")).length > 0, "it runs");
    const [, jid, pid] = (await notes("start"))[0]!.split(" ");
    const killed = servers.find((server) => String(server.pid) === pid)!;
    killed.kill("SIGKILL");
    await bench.go();
    await bench.until(async () => (await notes(`end ${jid}`)).length > 0, "it runs again, and ends");
    const again = (await notes(`start ${jid}`)).map((line) => line.split(" ")[2]);
    assertEquals([again.length, again[0], again[1] !== pid], [2, pid, true]);
    await bench.until(async () => (await notes("end")).length >= 3, "later occurrences run");
    assertOneAtATime(await bench.readNotes());
    const records = (await logTexts(bench.store, "cron:one", 100)).map((text) => JSON.parse(text));
    const skipped = records.filter(({ outcome }) => outcome === "skipped");
    assert(skipped.some((record) => record.jid === jid), "what came meanwhile was skipped because of it");
  } finally {
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
}

Deno.test("a singleton whose worker is killed runs again after its rescue, and never twice at once", async () => {
  await Promise.all([onSqlite(singleton), onRedis(singleton)]);
});

async function replace(bench: Bench): Promise<void> {
  const crontab = [entry("latest", { every: "2s", class: "Endless", args: [bench.notes], overlap: "replace" })];
  await using server = serve(bench, crontab);
  await server.logged("Ready");
  await bench.until(async () => (await bench.readNotes()).length >= 3, "a third one runs");
  const records = (await logTexts(bench.store, "cron:latest", 100)).map((text) => JSON.parse(text).outcome);
  assert(records.includes("waiting") && records.includes("enqueued"), records.join());
  const { dead, retry } = await bench.store.admin.stats();
  assertEquals({ dead, retry }, { dead: 0, retry: 0 }, "a replaced job is not a failure");
}

Deno.test("the previous job is cancelled when a later run replaces it", async () => {
  await Promise.all([onSqlite(replace), onRedis(replace)]);
});

Deno.test("a configuration that is read again changes, adds and removes entries; an invalid one changes nothing", async () => {
  await using bench = await Bench.open();
  const file = `${bench.folder}/jobs.json`;
  const write = (cron: unknown) => Deno.writeTextFile(file, JSON.stringify({ cron }));
  const yearly = { rule: "@yearly", args: [bench.notes] };
  await write([entry("a", yearly), entry("b", yearly)]);
  await using server = new JobsProcess({ store: bench.url, args: [HANDLERS, "-C", file] });
  await server.logged("Cron entry defined", { entry: "a" });
  await server.logged("Cron entry defined", { entry: "b" });
  await write([entry("b", { every: "1s", args: [bench.notes] }), entry("c", yearly)]);
  server.kill("SIGHUP");
  await server.logged("Cron entry removed", { entry: "a" });
  await server.logged("Cron entry changed", { entry: "b" });
  await server.logged("Cron entry defined", { entry: "c" });
  await bench.until(async () => (await bench.readNotes()).length > 0, "the changed entry occurs");
  await write([entry("c", { rule: "61 * * * *" })]);
  server.kill("SIGHUP");
  const { error } = await server.logged("Request failed");
  assert(String(error).includes('Cron entry "c"'), String(error));
  assertEquals((await bench.store.cron.page()).entries.map(({ name }) => name), ["b", "c"]);
});

Deno.test("a configuration file that is missing when it is read again changes nothing", async () => {
  await using bench = await Bench.open();
  const file = `${bench.folder}/jobs.json`;
  await Deno.writeTextFile(file, JSON.stringify({ cron: [entry("a", { rule: "@yearly" })], queues: ["default", "b"] }));
  await using server = new JobsProcess({ store: bench.url, args: [HANDLERS], cwd: bench.folder });
  await server.logged("Cron entry defined", { entry: "a" });
  await Deno.rename(file, `${bench.folder}/gone.json`);
  server.kill("SIGHUP");
  const { error } = await server.logged("Request failed");
  assertStringIncludes(String(error), 'Configuration file "jobs.json" not found');
  await Deno.writeTextFile(
    file,
    JSON.stringify({ cron: [entry("a", { rule: "@yearly" }), entry("b", { rule: "@yearly" })] }),
  );
  server.kill("SIGHUP");
  await server.logged("Cron entry defined", { entry: "b" });
  assertEquals((await bench.store.cron.page()).entries.map(({ name }) => name), ["a", "b"]);
  assertEquals(server.lines.filter(({ msg }) => msg === "Cron entry removed"), []);
});

Deno.test("a worker does not start with an invalid crontab, and lists all problems", async () => {
  await using bench = await Bench.open();
  await using server = serve(bench, [
    entry("a", { rule: "0 0 31 2 *" }),
    entry("b", { rule: "@daily", class: "Missing" }),
    entry("c", { rule: "@daily" }),
    entry("c", { rule: "@daily" }),
  ]);
  assertEquals((await server.status()).code, 2);
  const said = server.lines.map((line) => line.msg).join("\n");
  for (
    const part of [
      '"a": Invalid cron expression "0 0 31 2 *", column 5',
      '"b": no handler for class "Missing"',
      "has the name of",
    ]
  ) {
    assert(said.includes(part), said);
  }
});

Deno.test("every worker performs an everyProcess entry itself, without the store", async () => {
  await using bench = await Bench.open();
  const crontab = [entry("house", { every: "1s", class: "Long", args: [bench.notes, 0], everyProcess: true })];
  await using one = serve(bench, crontab);
  await using other = serve(bench, crontab);
  const ran = async ({ pid }: JobsProcess) => (await bench.readNotes()).some((line) => line.endsWith(`${pid}`));
  await bench.until(async () => await ran(one) && await ran(other), "both performed it");
  assertEquals((await bench.store.admin.stats()).processed, 0);
});

Deno.test("an everyProcess run has the shutdown timeout to end, and is then aborted", async () => {
  await using bench = await Bench.open();
  const crontab = [entry("house", { every: "1s", class: "Endless", args: [bench.notes], everyProcess: true })];
  await using server = serve(bench, crontab, { JOBS_SHUTDOWN_TIMEOUT: "0.1s" });
  await bench.until(async () => (await bench.readNotes()).length > 0, "it runs");
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  await server.logged("Stopped");
  const ended = server.lines.filter(({ task }) => String(task).startsWith("in-process-"));
  assert(ended.length > 0, JSON.stringify(server.lines));
});
