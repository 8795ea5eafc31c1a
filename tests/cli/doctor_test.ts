/** What `jobs doctor` finds, and the cure that it names for it. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Bench, benchOn } from "../support/bench.ts";
import { jobs, MORTAL } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

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
  for (const one of found) assertEquals(one.cure !== undefined, one.state !== "ok", JSON.stringify(one));
  return found;
}

function one(found: readonly Finding[], text: string): Finding {
  const fits = found.filter(({ message }) => message.includes(text));
  assertEquals(fits.length, 1, `${text}: ${JSON.stringify(found)}`);
  return fits[0]!;
}

Deno.test("doctor names what waits in vain: paused, taken by nobody, performed by nobody, held by the dead", async () => {
  benchOn((folder) => `sqlite:${folder}/jobs.db`);
  await using bench = await Bench.open();
  await using server = await bench.server([], MORTAL);
  await bench.push("Hang", [bench.notes, "x"]);
  await bench.until(async () => (await bench.store.admin.stats()).leased === 1);
  await bench.push("Nobodys", [], { queue: "low" });
  await bench.store.admin.pause("low", 10 * 24 * 3_600_000);
  server.kill("SIGKILL");
  await server.status();
  await bench.until(async () => !(await bench.store.workers.list()).some(({ alive }) => alive));
  const found = await findings(bench);
  assertEquals(one(found, "none is live").state, "warning");
  assertStringIncludes(one(found, '"low" has 1 job and no process takes it').cure!, "jobs run -q low");
  assertStringIncludes(one(found, "low paused for 10d").cure!, "jobs resume low");
  assertStringIncludes(one(found, "1 job is held by processes that are not alive").cure!, "jobs run");
  assertStringIncludes(one(found, 'jobs of class Nobodys wait in "low"').cure!, "a handler Nobodys");
  assertEquals(found.some(({ message }) => message.includes("class Hang")), false);
});

Deno.test("doctor looks at files: the log that cannot be written, the store that others can read", async () => {
  benchOn((folder) => `sqlite:${folder}/jobs.db`);
  await using bench = await Bench.open();
  await Deno.chmod(`${bench.folder}/jobs.db`, 0o644);
  const found = await findings(bench, [], { JOBS_LOG_FILE: `${bench.folder}/no/x.log` }, 1);
  assertStringIncludes(one(found, "cannot be written: there is no such folder").cure!, '"log.file"');
  assertStringIncludes(one(found, "may read the jobs").cure!, "chmod 600");
  one(found, "keeps every push in a power cut");
  assertEquals((await Array.fromAsync(Deno.readDir(bench.folder))).filter(({ name }) => name.includes("doctor")), []);
});

Deno.test("doctor says what Redis keeps, evicts, and thinks of the time", async () => {
  for (
    const [config, options, wanted] of [
      [{ "maxmemory-policy": "allkeys-lru" }, {}, ['maxmemory-policy is "allkeys-lru"', "no append-only file"]],
      [{}, { aof: "always" as const }, ["keeps every push in a power cut"]],
      [{}, { aof: "everysec" as const }, ["may lose the last moments' pushes"]],
    ] as const
  ) {
    await using redis = await startRedis({ config, ...options });
    benchOn(() => redis.url);
    await using bench = await Bench.open();
    const found = await findings(bench);
    for (const text of wanted) one(found, text);
    assert(one(found, "Redis 7").state === "ok");
    assertEquals(found.some(({ check }) => check === "clock"), false);
  }
});

Deno.test("doctor prints durations as people write them, and each finding whole", async () => {
  benchOn((folder) => `sqlite:${folder}/jobs.db`);
  await using bench = await Bench.open();
  const { stdout } = await jobs(["doctor"], { cwd: bench.folder, env: { JOBS_STORE: bench.url } });
  assertMatch(stdout, /^retention\.deadAge +180d +default$/m);
  assertStringIncludes(stdout, "→ start one: jobs run HANDLERS.js");
});

Deno.test("a store that cannot be opened is a finding with a cure", async () => {
  benchOn((folder) => `sqlite:${folder}/jobs.db`);
  await using bench = await Bench.open();
  const found = await findings(bench, ["--store", "redis://127.0.0.1:1"], {}, 1);
  assertEquals(one(found, "cannot be reached").state, "failed");
});

Deno.test("doctor and run name the option that is near a known one", async () => {
  benchOn((folder) => `sqlite:${folder}/jobs.db`);
  await using bench = await Bench.open();
  const handlers = `${bench.folder}/mail.js`;
  await Deno.writeTextFile(handlers, "export function Mail() {}\nMail.options = { retrys: 3, tenant: 'acme' };\n");
  const wanted = 'Option "retrys" of class Mail: did you mean "retry"? it is written into each payload as it is';
  assertEquals(one(await findings(bench, [handlers]), 'Option "').message, wanted);
  await using server = await bench.server([handlers]);
  await server.logged(wanted, { level: "warn" });
});
