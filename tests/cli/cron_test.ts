/** `jobs cron`. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { cancelJob } from "../../src/store/ops/cancel.ts";
import { workerRecord } from "../store_contract/jobs.ts";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";

/** Runs `jobs cron …` in the bench's folder; returns its output. */
async function cron(bench: Bench, args: string[], wanted = 0): Promise<string> {
  const { code, stdout, stderr } = await jobs(["cron", ...args, "--store", bench.url], { cwd: bench.folder });
  assertEquals(code, wanted, stderr);
  return wanted === 0 ? stdout : stderr;
}

/** The payload of the queued job. */
async function onlyJob(bench: Bench): Promise<Record<string, unknown>> {
  const { entries } = await bench.store.admin.page({ in: "queue", queue: "low" });
  assertEquals(entries.length, 1);
  return JSON.parse(entries[0]!.payload);
}

Deno.test("adds, lists, runs, pauses, resumes and removes an entry", async () => {
  await using bench = await Bench.open();
  assert((await cron(bench, ["list"])).startsWith("No cron entries"));
  const rule = ["--rule", "30 3 * * 1-5", "--timezone", "Europe/London"];
  await cron(bench, ["add", "nightly", "Report", "5", "bob", ...rule, "-q", "low", "--memo", "for the board"]);
  const listed = await cron(bench, ["list"]);
  for (const part of ["nightly", "at 03:30 on weekdays, Europe/London", 'Report(5, "bob")', "for the board"]) {
    assert(listed.includes(part), listed);
  }
  const { runs: times } = JSON.parse(await cron(bench, ["next", "nightly", "-n", "3", "--json"]));
  assertEquals(times.length, 3);
  assert(times.every(({ local }: { local: string }) => local.includes("T03:30:00")), JSON.stringify(times));

  const jid = (await cron(bench, ["run", "nightly"])).trim();
  const { jid: stored, class: name, args, occurrence } = await onlyJob(bench);
  assertEquals({ stored, name, args }, { stored: jid, name: "Report", args: [5, "bob"] });
  assertEquals((occurrence as { name: string }).name, "nightly");
  const { history: [run] } = JSON.parse(await cron(bench, ["history", "nightly", "--json"]));
  assertEquals([run.outcome, run.jobEnded], ["manual", "not ended"]);

  await cancelJob(bench.store, jid, Date.now());
  assert((await cron(bench, ["history", "nightly"])).includes("cancelled"));

  const paused = async () => JSON.parse(await cron(bench, ["list", "--json"])).entries[0].paused;
  await cron(bench, ["pause", "nightly"]);
  assertEquals(await paused(), true);
  await cron(bench, ["resume", "nightly"]);
  assertEquals(await paused(), false);

  assert(
    (await cron(bench, ["add", "nightly", "Report", ...rule], 1)).includes("already exists; --replace replaces it"),
  );
  await cron(bench, ["add", "--entry", '{ "name": "nightly", "class": "Other", "every": "1h" }', "--replace"]);
  assertEquals(JSON.parse(await cron(bench, ["list", "--json"])).entries[0].class, "Other");
  await cron(bench, ["remove", "nightly"]);
  assert((await cron(bench, ["remove", "nightly"], 1)).includes('Cron entry "nightly" not found'));
});

Deno.test("finds every problem with cron check, also with the classes of handlers", async () => {
  await using bench = await Bench.open();
  const write = (cron: unknown) => Deno.writeTextFile(`${bench.folder}/jobs.json`, JSON.stringify({ cron }));
  await write([{ name: "a", rule: "0 25 * * *", class: "Tick" }, { name: "b", every: "1s", class: "Unknown" }]);
  const handlers = new URL("../support/cron_handlers.js", import.meta.url).pathname;
  const wrong = await cron(bench, ["check", handlers], 1);
  assert(
    wrong.includes('Cron entry "a": Invalid cron expression "0 25 * * *", column 3: hour "25" is out of range'),
    wrong,
  );
  assert(wrong.includes('Cron entry "b": no handler for class "Unknown"'), wrong);
  assertEquals(
    JSON.parse((await jobs(["doctor", handlers, "--json"], { cwd: bench.folder })).stdout).findings
      .filter(({ check }: { check: string }) => check === "cron").length,
    2,
  );
  await write([{ name: "a", rule: "0 5 * * *", class: "Tick" }, {
    name: "off",
    every: "1s",
    class: "X",
    enable: false,
  }]);
  assert((await cron(bench, ["check"])).includes("off: enable"));
});

Deno.test("checks the cron entries of the example", async () => {
  const cwd = new URL("../../", import.meta.url).pathname;
  const { code, stderr, stdout } = await jobs(["cron", "check", "-C", "examples/crontab.json"], { cwd });
  assertEquals(code, 0, stderr);
  assert(stdout.includes("Checked 5 cron entries: all valid"), stdout);
  assertEquals(stdout.match(/\d{4}-\d\d-\d\d \d\d:\d\d, \d{4}-\d\d-\d\d \d\d:\d\d/g)?.length, 4, stdout);
});

Deno.test("adds an entry with options of its jobs, which are those of pushes that entries allow", async () => {
  await using bench = await Bench.open();
  const options = ["--group", "args[0]", "--timeout", "30s", "--retry", "3", "--tags", "a,b", "--dead", "false"];
  const rule = ["--every", "1h", "-q", "low"];
  await cron(bench, ["add", "poll", "Poll", "acme", ...rule, ...options]);
  await cron(bench, ["run", "poll"]);
  const { entries } = await bench.store.admin.page({ in: "queue", queue: "low", group: "acme" });
  const { group, timeout, retry, tags, dead } = JSON.parse(entries[0]!.payload);
  assertEquals({ group, timeout, retry, tags, dead }, {
    ...{ group: "acme", timeout: 30, retry: 3, tags: ["a", "b"], dead: false },
  });
  await cron(bench, ["add", "urgent", "Poll", "--every", "1h", "--priority", "high"]);
  const wrong = async (...args: string[]) => await cron(bench, ["add", "other", "Poll", ...rule, ...args], 2);
  assertEquals(
    await wrong("--timeout", "soon"),
    'jobs: Invalid --timeout "soon": expected seconds, or a duration such as 30s, 5m, 2h or 1d\n',
  );
  assert((await wrong("--unique-for", "1h")).includes("--unique-for"));
  const help = await cron(bench, ["add", "--help"]);
  for (const flag of ["--group", "--retry", "--result-ttl"]) assert(help.includes(`${flag} `), help);
  assert(!help.includes("--unique-for"));
});

Deno.test("rejects wrong arguments of cron with the usage", async () => {
  await using bench = await Bench.open();
  assert((await cron(bench, [], 2)).includes("Usage: jobs cron list|next"));
  assert((await cron(bench, ["lst"], 2)).includes("did you mean jobs cron list?"));
  assert((await cron(bench, ["next"], 2)).includes("Missing argument: NAME. Usage: jobs cron next NAME"));
  assert((await cron(bench, ["next", "a", "-n", "0"], 2)).includes("a whole number from 1 to 1000"));
  assert((await cron(bench, ["add", "a"], 2)).includes("Missing argument: CLASS. Usage: jobs cron add NAME CLASS"));
  assert((await cron(bench, ["add", "a", "Tick"], 2)).includes('neither "rule" nor "every"'));
  assert((await cron(bench, ["run", "a"], 1)).includes('Cron entry "a" not found'));
});

Deno.test("rejects an entry whose arguments have no group at the path of its class, at the check and at the start", async () => {
  await using bench = await Bench.open();
  await Deno.writeTextFile(
    `${bench.folder}/handlers.js`,
    "export function Export() {}\nExport.options = { group: 'args[0].customer' };\n",
  );
  const entries = [{ name: "bad", every: "1h", class: "Export" }, {
    name: "own",
    every: "1h",
    class: "Export",
    group: "a",
  }];
  await Deno.writeTextFile(`${bench.folder}/jobs.json`, JSON.stringify({ cron: entries }));
  for (
    const [exit, args] of [
      [1, ["cron", "check", "handlers.js"]],
      [2, ["run", "handlers.js", "--burst", "--store", bench.url]],
    ] as const
  ) {
    const { code, stderr } = await jobs(args, { cwd: bench.folder });
    assertEquals(code, exit);
    const problem = stderr.split("\n").filter((line) => line.startsWith("jobs: "));
    assertEquals(problem.length, 1, stderr);
    assert(
      problem[0]!.startsWith('jobs: Cron entry "bad": "group (args[0].customer)" is undefined; expected '),
      stderr,
    );
  }
});

Deno.test("lists the entries of the configuration that no worker has loaded", async () => {
  await using bench = await Bench.open();
  const entries = [{ name: "nightly", rule: "0 3 * * *", class: "Tick" }];
  await Deno.writeTextFile(`${bench.folder}/jobs.json`, JSON.stringify({ cron: entries }));
  const { stdout, stderr } = await jobs(["cron", "list", "--store", bench.url], { cwd: bench.folder });
  assert(/nightly +at 03:00.* +not loaded +Tick\(\)/.test(stdout), stdout);
  assertEquals(
    stderr,
    "jobs: 1 entry isn't active yet: no worker has loaded jobs.json; start one: jobs run\n",
  );
  const { entries: [entry] } = JSON.parse(await cron(bench, ["list", "--json"]));
  assertEquals([entry.name, entry.loaded], ["nightly", false]);
  const first = await jobs(["cron", "list", "--store", "sqlite:new/jobs.db"], { cwd: bench.folder });
  assert(/nightly +at 03:00.* +not loaded +Tick\(\)/.test(first.stdout), first.stdout);
  assertEquals(
    first.stderr,
    "jobs: 1 entry isn't active yet: there is no store at sqlite:new/jobs.db, and no worker has loaded jobs.json; " +
      "start one: jobs run\n",
  );
});

Deno.test("lists no time of a run that won't take place, because no worker is running", async () => {
  await using bench = await Bench.open();
  await cron(bench, ["add", "hourly", "Tick", "--every", "1h"]);
  const env = { env: { JOBS_STORE: bench.url } };
  const idle = "jobs: no worker is running: no run takes place until one is; start one: jobs run\n";
  const list = await jobs(["cron", "list"], env);
  assertMatch(list.stdout, /^hourly +every hour +no worker is running +Tick\(\)/m);
  assertEquals(list.stderr, idle);
  assertEquals((await jobs(["cron", "next", "hourly"], env)).stderr, idle);
  await bench.store.workers.heartbeat(workerRecord("w:1:a", { heartbeatMs: 5_000 }), 600_000);
  const running = await jobs(["cron", "list"], env);
  assertMatch(running.stdout, /^hourly +every hour +in \S+ /m);
  assertEquals([running.stderr, (await jobs(["cron", "next", "hourly"], env)).stderr], ["", ""]);
});

Deno.test("adds the entries of a file, and pauses, resumes and removes those with a prefix or a tag", async () => {
  await using bench = await Bench.open();
  const file = `${bench.folder}/entries`;
  const entry = (name: string, more = {}) => JSON.stringify({ name, class: "Report", every: "1h", ...more });
  const numbers = Array.from({ length: 150 }, (_, number) => entry(`acme:${number}`, { tags: [`t${number % 3}`] }));
  await Deno.writeTextFile(file, [...numbers, "", entry("other")].join("\n"));
  assertEquals(await cron(bench, ["add", "--bulk", file]), "Added 151 cron entries\n");
  assert((await cron(bench, ["add", "--bulk", file], 1)).includes('"acme:0" already exists; --replace replaces it'));
  assertEquals(await cron(bench, ["add", "--bulk", file, "--replace"]), "Added 0 cron entries\n");
  assertEquals(await cron(bench, ["pause", "--tag", "t1"]), "Paused 50 cron entries\n");
  assertEquals(await cron(bench, ["pause", "--prefix", "acme:"]), "Paused 100 cron entries\n");
  const resumed = await cron(bench, ["resume", "--prefix", "acme:1", "--tag", "t0", "--json"]);
  assertEquals(JSON.parse(resumed), { count: 19 });
  const unsure = await cron(bench, ["remove", "--prefix", "acme:"], 2);
  assert(unsure.includes("This would remove all cron entries with prefix acme:. Pass --yes to confirm"), unsure);
  assertEquals(await cron(bench, ["remove", "--prefix", "acme:", "--yes"]), "Removed 150 cron entries\n");
  assertEquals((await bench.store.cron.page()).entries.map(({ name }) => name), ["other"]);

  await Deno.writeTextFile(file, `${entry("a")}\n{`);
  assert((await cron(bench, ["add", "--bulk", file], 2)).includes("line 2: expected an entry as JSON on each line"));
  await Deno.writeTextFile(file, `${entry("a")}\n${entry("b", { every: "x" })}`);
  assert((await cron(bench, ["add", "--bulk", file], 2)).includes('Cron entry "b": "every" is "x"'));
  assert((await cron(bench, ["remove", "--prefix", ""], 2)).includes("Missing value of --prefix"));
  assertEquals((await bench.store.cron.page()).entries.length, 1);
});
