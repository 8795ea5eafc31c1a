/** The findings of `jobs doctor`, and their cures. */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import { Child } from "../support/child.ts";
import { mountDisk, requireMount } from "../support/small_disk.ts";
import { jobs, MORTAL } from "../support/process.ts";
import { openStore } from "../../src/store/open.ts";
import { startRedis } from "../support/redis.ts";
import { startRedisGroup } from "../support/redis_group.ts";

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly message: string;
  readonly cure?: string;
}

async function findings(bench: Bench, args: readonly string[] = [], env: Record<string, string> = {}, code = 0) {
  const ended = await jobs(["doctor", ...args, "--json"], {
    cwd: bench.folder,
    env: { JOBS_STORE: bench.url, ...env },
  });
  assertEquals(ended.code, code, ended.stderr);
  const found = JSON.parse(ended.stdout).findings as Finding[];
  for (const one of found) if (one.state === "failed") assert(one.cure !== undefined, JSON.stringify(one));
  return found;
}

function one(found: readonly Finding[], text: string): Finding {
  const fits = found.filter(({ message }) => message.includes(text));
  assertEquals(fits.length, 1, `${text}: ${JSON.stringify(found)}`);
  return fits[0]!;
}

Deno.test("names jobs that nothing runs: paused, without a worker, without a handler, held by offline workers", async () => {
  await using bench = await Bench.open((folder) => `sqlite:${folder}/jobs.db`);
  await using server = await bench.server([], MORTAL);
  await bench.push("Hang", [bench.notes, "x"]);
  await bench.until(async () => (await bench.store.admin.stats()).running === 1);
  await bench.push("Unhandled", [], { queue: "low" });
  await bench.store.admin.configure("low", { pause: 10 * 24 * 3_600_000 });
  server.kill("SIGKILL");
  await server.status();
  await bench.until(async () => !(await bench.store.workers.list()).some(({ alive }) => alive));
  const found = await findings(bench);
  assertEquals(one(found, "No worker is running: 1 job waits").cure, "jobs run handlers.js -q low");
  assertStringIncludes(one(found, 'Queue "low" is paused for 10d').cure!, "jobs resume low");
  assertStringIncludes(one(found, "1 job is held by offline workers").cure!, "jobs run");
  one(found, 'No worker of queue "low" has a handler for Unhandled');
  assertEquals(found.some(({ message }) => message.includes("handler for Hang")), false);
});

Deno.test("doesn't call a paused queue empty while its jobs are scheduled", async () => {
  await using bench = await Bench.open();
  for (const queue of ["later", "unused"]) await bench.store.admin.configure(queue, { pause: true });
  await bench.push("Noop", [], { queue: "later", at: Date.now() + 3_600_000 });
  const found = await findings(bench);
  const later = one(found, 'Queue "later" is paused; it is empty, but jobs of it are scheduled or retrying');
  assertEquals(later.cure, "jobs resume later, once they are meant to run");
  assertEquals(one(found, 'Queue "unused" is paused, and empty').cure, "jobs resume unused");
});

Deno.test("names a paused cron entry with since when and by whom, as cron next and cron history do", async () => {
  await using bench = await Bench.open();
  const run = (...args: string[]) =>
    jobs(["cron", ...args], { cwd: bench.folder, env: { JOBS_STORE: bench.url, JOBS_USER: "root", USER: "root" } });
  for (const name of ["sync", "team:a"]) assertEquals((await run("add", name, "Noop", "--every", "1m")).code, 0);
  assertEquals((await findings(bench)).filter(({ message }) => message.includes("is paused")), []);
  assertEquals((await run("pause", "sync")).code, 0);
  assertEquals((await run("pause", "--prefix", "team:")).code, 0);
  const found = await findings(bench);
  assertMatch((await run("list")).stdout, /sync .*paused, for \S+ now, by \S+/);
  for (const name of ["sync", "team:a"]) {
    const { check, state, message, cure } = one(found, `Cron entry "${name}" is paused, for `);
    assertEquals([check, state, cure], ["cron", "warning", `jobs cron resume ${name}`]);
    assertMatch(message, /, for \S+ now, by \S+$/);
    for (const verb of ["next", "history"]) {
      const { code, stderr } = await run(verb, name);
      assertEquals(code, 0);
      assertMatch(
        stderr,
        new RegExp(`^jobs: Cron entry "${name}" is paused, for \\S+ now, by \\S+: .*: jobs cron resume ${name}\n$`),
      );
      const { pause } = JSON.parse((await run(verb, name, "--json")).stdout);
      assertMatch(`${pause?.since} ${pause?.by}`, /^\d{4}-\d\d-\d\dT\S+Z \S+$/);
    }
  }
  assertEquals((await run("resume", "sync")).code, 0);
  assertEquals((await run("next", "sync")).stderr.includes("is paused"), false);
  assertEquals(JSON.parse((await run("next", "sync", "--json")).stdout).pause, undefined);
  assertEquals((await findings(bench)).filter(({ message }) => message.includes('"sync" is paused')), []);
});

Deno.test("checks files: a log that isn't writable, a store that others can read", async () => {
  await using bench = await Bench.open((folder) => `sqlite:${folder}/jobs.db`);
  await Deno.chmod(`${bench.folder}/jobs.db`, 0o644);
  const found = await findings(bench, [], { JOBS_LOG_FILE: `${bench.folder}/no/x.log` }, 1);
  assertStringIncludes(one(found, "isn't writable: no such folder").cure!, '"log.file"');
  assertStringIncludes(one(found, "may read the jobs").cure!, "chmod 600");
  one(found, "a power cut loses no acknowledged job");
  assertEquals((await Array.fromAsync(Deno.readDir(bench.folder))).filter(({ name }) => name.includes("doctor")), []);
});

Deno.test("checks durability, eviction and clock of Redis", async () => {
  for (
    const [config, options, wanted] of [
      [{ "maxmemory-policy": "allkeys-lru" }, {}, ['maxmemory-policy is "allkeys-lru"', "no append-only file"]],
      [{}, { aof: "always" as const }, ["a power cut loses no acknowledged job"]],
      [{}, { aof: "everysec" as const }, ["a power cut may lose the latest jobs"]],
    ] as const
  ) {
    await using redis = await startRedis({ config, ...options });
    await using bench = await Bench.open(() => redis.url);
    const found = await findings(bench);
    for (const text of wanted) one(found, text);
    assertEquals(one(found, "Redis 7").state, "aof" in options ? "ok" : "warning");
    assertEquals(found.some(({ check }) => check === "clock"), false);
    if (!("aof" in options)) continue;
    await redis.cli("CONFIG", "SET", "maxmemory", "1mb");
    const [first, ...others] = await findings(bench, ["--measure", "0s"], {}, 1);
    assertMatch(first!.message, /has no memory left/);
    assertEquals([first!.cure, others.some(({ check }) => check === "workers")], ["redis-cli INFO memory", false]);
    await redis.cli("CONFIG", "SET", "maxmemory", "0");
  }
});

Deno.test("reports an unknown durability of a managed Redis, and all other findings", async () => {
  await using redis = await startRedis({ renamed: ["CONFIG", "INFO", "CLIENT"] });
  await using bench = await Bench.open(() => redis.url);
  await bench.push("Wait", [bench.notes]);
  const found = await findings(bench);
  assertEquals(one(found, "durability unknown").state, "ok");
  one(found, "No worker is running: 1 job waits");
});

Deno.test("recommends min-replicas-to-write where Sentinel may fail over", async () => {
  const recommendation = "its min-replicas-to-write is 0";
  await using group = await startRedisGroup();
  await using bench = await Bench.open(() => group.url);
  assertStringIncludes(one(await findings(bench), recommendation).cure!, "pushes then wait while no replica follows");
  await group.servers[0]!.cli("CONFIG", "SET", "min-replicas-to-write", "1");
  assertEquals((await findings(bench)).some(({ message }) => message.includes(recommendation)), false);
});

Deno.test("prints durations with units, and findings in full", async () => {
  await using bench = await Bench.open((folder) => `sqlite:${folder}/jobs.db`);
  const { stdout } = await jobs(["doctor", "--settings"], { cwd: bench.folder, env: { JOBS_STORE: bench.url } });
  assertMatch(stdout, /^retention\.deadAge +180d +default$/m);
  assertStringIncludes(stdout, "→ jobs run handlers.js");
});

Deno.test("prints what is known before it has measured the store", async () => {
  await using bench = await Bench.open((folder) => `sqlite:${folder}/jobs.db`);
  const [program, ...first] = jobsCommand();
  const args = [...first, "doctor", "--measure", "20s", "--store", bench.url];
  const child = new Deno.Command(program!, { args, cwd: bench.folder, stdout: "piped" }).spawn();
  let printed = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += text;
    if (printed.includes("none online")) child.kill("SIGKILL");
  }
  await child.status;
  assertEquals(printed.includes("writes in"), false, printed);
});

Deno.test("measures for the time that --measure gives", async () => {
  await using bench = await Bench.open((folder) => `sqlite:${folder}/jobs.db`);
  const found = await findings(bench, ["--measure", "0s"]);
  assertMatch(found.at(-1)!.message, /^1 write in /);
  for (const time of ["21s", "x"]) {
    const { code, stderr } = await jobs(["doctor", "--measure", time]);
    assertEquals([code, stderr], [2, `jobs: Invalid --measure "${time}": expected 0s to 20s\n`]);
  }
});

Deno.test("reports a store that can't be opened with a cure", async () => {
  await using bench = await Bench.open((folder) => `sqlite:${folder}/jobs.db`);
  const found = await findings(bench, ["--store", "redis://127.0.0.1:1"], {}, 1);
  assertEquals(one(found, "cannot be reached").state, "failed");
  // Its workers aren't known.
  assertEquals(found.filter(({ message }) => message.includes("no worker online")), []);
});

Deno.test("the cure for a store of a newer version is that version, not a permission", async () => {
  await using bench = await Bench.open((folder) => `sqlite:${folder}/jobs.db`);
  await bench.store[Symbol.asyncDispose]();
  using database = new DatabaseSync(`${bench.folder}/jobs.db`);
  database.exec("PRAGMA user_version = 99");
  const { cure } = one(await findings(bench, [], {}, 1), "made by a newer version");
  assertEquals(cure, "install that version of jobs here; --store or JOBS_STORE names another");
});

Deno.test("warns of a misspelled option of a handler, in doctor and in a worker", async () => {
  await using bench = await Bench.open((folder) => `sqlite:${folder}/jobs.db`);
  const handlers = `${bench.folder}/mail.js`;
  await Deno.writeTextFile(handlers, "export function Mail() {}\nMail.options = { retrys: 3, tenant: 'acme' };\n");
  const wanted = 'Option "retrys" of class Mail: did you mean "retry"? it is written unchanged into each payload';
  assertEquals(one(await findings(bench, [handlers]), 'Option "').message, wanted);
  await using server = await bench.server([handlers]);
  await server.logged(wanted, { level: "warn" });
});

Deno.test("a full disk comes first, with the space that is left, and its consequences are left out", async () => {
  await requireMount();
  await using disk = await mountDisk("4m");
  const file = `${disk.dir}/jobs.db`;
  await using child = new Child("sqlite_child.ts", ["fill", `sqlite:${file}`, "1"]);
  assertEquals(await child.line(), "full");
  // A small write may still fit.
  await using store = await openStore(`sqlite:${file}`);
  let failed = 0;
  while (failed < 10) {
    const isStored = await store.workers.claim(`name ${Math.random()}`, "a:1:a", 60_000).then(() => true, () => false);
    failed = isStored ? 0 : failed + 1;
  }
  const run = async (...args: string[]) => {
    const { code, stdout } = await jobs(["doctor", "--json", ...args], { env: { JOBS_STORE: `sqlite:${file}` } });
    return { code, found: JSON.parse(stdout).findings as Finding[] };
  };
  const { code, found: [first, ...others] } = await run("--measure", "0s");
  assertEquals([code, first!.state, first!.cure], [1, "failed", `df -h ${disk.dir}`]);
  assertMatch(
    first!.message,
    /^A write to the store failed: No space for store .*No job is pushed, .*Delete other files on its disk/,
  );
  assertEquals(others.filter(({ check }) => ["workers", "queues", "jobs", "clock"].includes(check)), []);
  assertEquals(others.filter(({ check, state }) => check === "store" && state !== "warning"), []);
  assertMatch(one(others, "its disk is").message, /its disk is (9\d|100) % full, /);
  assertEquals((await new Deno.Command("df", { args: ["-h", disk.dir] }).output()).code, 0);

  // The rest is found as soon as writes succeed.
  await disk.resize("64m");
  const later = await run("--measure", "0s");
  one(later.found, "No worker is running");
  assertEquals([later.code, later.found.some(({ message }) => message.includes("its disk is"))], [0, false]);
});
