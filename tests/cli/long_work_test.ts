/** Commands that act on many jobs: their selection, their output, and Ctrl-C. */
import { readEvents } from "../../src/store/admin/audit.ts";
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { actInSteps } from "../../src/cli/shared/bulk_edit.ts";
import { editJobs } from "../../src/operator/actions/jobs.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import { until } from "../support/eventually.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { requireTool } from "../support/tools.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { Edit, PlaceSelection } from "../../src/store/port/entries.ts";
import { interceptStore } from "../support/intercept.ts";
import { keepRecord } from "../support/records.ts";
import { asleep } from "../web/asleep.ts";

const sqlite = (folder: string) => `sqlite:${folder}/jobs.db`;

/** Runs a command on the bench's store. */
function on(bench: Bench, args: readonly string[], stdin?: string) {
  return jobs(args, { env: { JOBS_STORE: bench.url }, cwd: bench.folder, ...(stdin !== undefined && { stdin }) });
}

/** Runs a command in a terminal of this width, and presses keys when it asks. */
async function inTerminal(bench: Bench, args: readonly string[], keys = "", columns = 80): Promise<string> {
  requireTool("script");
  const command = [...jobsCommand(), ...args].map((word) => `'${word}'`).join(" ");
  const child = new Deno.Command("script", {
    args: ["-qec", `stty cols ${columns}; exec ${command}`, "/dev/null"],
    env: { JOBS_STORE: bench.url, TERM: "xterm", NO_COLOR: "" },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  let text = "";
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (keys !== "" && text.includes("[y/N]")) {
      await writer.write(new TextEncoder().encode(keys));
      keys = "";
    }
  }
  await writer.close().catch(() => {});
  await child.status;
  return text;
}

const WORDS = { doing: "Deleting", done: "Deleted" };
const DELETE = { action: "delete", all: { in: "queue:default" } };

/** Returns the number of changed jobs, and the errors of others. */
function summaryOf({ error: _first, errors = [], ...changed }: Record<string, unknown>): string {
  const failed = (errors as { jid: string; code: string }[]).map(({ jid, code }) => `${jid} ${code}`);
  return [...Object.entries(changed).map(([name, count]) => `${name} ${count}`), ...failed].join(", ");
}

async function sizes(store: Store): Promise<Record<string, number>> {
  return Object.fromEntries((await store.admin.stats()).queues.map(({ name, size }) => [name, size]));
}

for (const [name, openRedis] of [["SQLite", undefined], ["Redis", startRedis]] as const) {
  Deno.test(`clear deletes the queued jobs of one queue only (${name})`, async () => {
    await using redis = await openRedis?.();
    await using bench = await Bench.open(redis ? () => redis.url : sqlite);
    await bench.client.pushBulk({ class: "A", queue: "low", args: Array.from({ length: 2_500 }, (_, i) => [i]) });
    await bench.push("A", [], { queue: "high" });
    await bench.push("A", [], { queue: "low", in: "1h" });

    const asked = await on(bench, ["clear", "low"], "");
    assertEquals([asked.code, asked.stdout], [2, ""]);
    assertMatch(asked.stderr, /This would delete 2,500 queued jobs in queue "low"\. Pass --yes to confirm/);
    const none = await on(bench, ["clear", "lo", "--yes"]);
    assertEquals([none.code, none.stderr], [1, 'jobs: Queue "lo" not found; did you mean "low"?\n']);
    assertEquals(await sizes(bench.store), { high: 1, low: 2_500 });

    const cleared = await on(bench, ["clear", "low", "--yes"]);
    assertEquals(cleared, {
      code: 0,
      stdout: 'Deleted 2,500 queued jobs in queue "low", and removed the queue\n',
      stderr: "",
    });
    assertEquals((await sizes(bench.store))["high"], 1);
    assertEquals((await bench.store.admin.stats()).scheduled, 1);
  });

  Deno.test(`find searches every state, finished jobs included (${name})`, async () => {
    await using redis = await openRedis?.();
    await using bench = await Bench.open(redis ? () => redis.url : sqlite);
    const queued = await bench.push("Invoice", [{ customer: "Müller" }]);
    const scheduled = await bench.push("Invoice", ["müller"], { in: "1h" });
    await bench.push("Invoice", ["other"]);
    await keepRecord(bench.store, {
      jid: "ended1",
      ttlMs: 60_000,
      body: JSON.stringify({
        ...{ jid: "ended1", class: "Report", queue: "low", state: "failed", endedAt: 1 },
        error: { class: "TypeError", message: "No Müller" },
      }),
    });
    const { code, stdout } = await on(bench, ["find", "müller"]);
    assertEquals(code, 0);
    for (const part of [queued, "scheduled", scheduled, "ended1", "TypeError: No Müller"]) {
      assertStringIncludes(stdout, part);
    }
    assertEquals(stdout.includes("other"), false);
    const { jobs: entries, finished: ended, more } = JSON.parse(
      (await on(bench, ["find", "müller", "-n", "1", "--json"])).stdout,
    );
    assertEquals([entries.length, ended.length, more], [1, 1, true]);
    assertEquals((await on(bench, ["find", "unknown"])).code, 1);
  });
}

Deno.test("clear asks on a terminal, and changes nothing unless the answer is yes", async () => {
  await using bench = await Bench.open(sqlite);
  await bench.push("A", [], { queue: "low" });
  assertStringIncludes(await inTerminal(bench, ["clear", "low"], "n\n"), "Declined: nothing changed");
  assertEquals(await sizes(bench.store), { low: 1 });
  assertStringIncludes(await inTerminal(bench, ["clear", "low"], "y\n"), 'Deleted 1 queued job in queue "low"');
  assertEquals(await sizes(bench.store), {});
});

Deno.test("delete, kill and cancel --all ask with the count; without a terminal, they require --yes", async () => {
  await using bench = await Bench.open(sqlite);
  await bench.client.pushBulk({ class: "A", queue: "low", args: Array.from({ length: 1_200 }, (_, i) => [i]) });
  for (const [command, asked] of [["delete", "Delete"], ["kill", "Kill"], ["cancel", "Cancel"]] as const) {
    const { code, stdout, stderr } = await on(bench, [command, "--all", "queued", "-q", "low"], "");
    const what = '1,200 queued jobs in queue "low"';
    assertEquals([code, stdout, stderr], [
      2,
      "",
      `jobs: This would ${command} ${what}. Pass --yes to confirm (stdin isn't a terminal)\n`,
    ]);
    const terminal = await inTerminal(bench, [command, "--all", "queued", "-q", "low"], "n\n");
    assertStringIncludes(terminal, `${asked} ${what}? [y/N] `);
    assertStringIncludes(terminal, "Declined: nothing changed");
    const unknown = await on(bench, [command, "--all", "queued", "-q", "lo", "--yes"]);
    assertEquals([unknown.code, unknown.stderr], [1, 'jobs: Queue "lo" not found; did you mean "low"?\n']);
  }
  assertEquals(await sizes(bench.store), { low: 1_200 });
  assertStringIncludes(
    await inTerminal(bench, ["delete", "--all", "queued", "-q", "low"], "y\n"),
    "Deleted 1,200 queued jobs",
  );
});

Deno.test("on a terminal, delete, cancel and signal ask about a single job, with what is lost; in scripts they don't", async () => {
  await using bench = await Bench.open(sqlite);
  for (const [jid, key] of [["o1", "order:1"], ["o2", "order:2"], ["o3", "order:3"]] as const) {
    await asleep(bench.store, { jid, key });
  }
  const cases: [string[], string][] = [
    [["delete", "o1"], 'Delete job "o1" and the results of its steps charge, approval? [y/N] '],
    [["cancel", "o1"], 'Cancel job "o1"? [y/N] '],
    [["signal", "order:1", "{}"], 'Send {} to step "approval" of job "o1"? [y/N] '],
    [["signal", "ordre:1"], 'Keep true, because no job waits for "ordre:1"? [y/N] '],
  ];
  for (const [args, question] of cases) {
    const terminal = await inTerminal(bench, args, "n\n", 200);
    assertStringIncludes(terminal, question);
    assertStringIncludes(terminal, "Declined: nothing changed");
  }
  assertEquals((await bench.store.steps.waits({ limit: 9 })).waits.length, 3);
  assertStringIncludes(await inTerminal(bench, ["delete", "o1"], "y\n"), "Deleted 1 job");
  assertEquals((await on(bench, ["signal", "order:2"])).stdout, 'Job "o2" continues\n');
  assertEquals((await on(bench, ["cancel", "o3"])).stdout, "Cancelled 1 job\n");
});

Deno.test("kill --all shows the limit of the dead set, before and after", async () => {
  await using bench = await Bench.open(sqlite);
  await bench.client.pushBulk({ class: "A", queue: "low", args: Array.from({ length: 50 }, (_, i) => [i]) });
  const env = { JOBS_STORE: bench.url, JOBS_RETENTION_DEAD_JOBS: "20" };
  const asked = await jobs(["kill", "--all", "queued", "-q", "low"], { env });
  assertEquals(asked.code, 2);
  assertStringIncludes(
    asked.stderr,
    'kill 50 queued jobs in queue "low" (the dead set keeps the latest 20: 30 are deleted)',
  );
  assertEquals((await bench.store.admin.stats()).enqueued, 50);
  const killed = await jobs(["kill", "--all", "queued", "-q", "low", "--yes"], { env });
  assertEquals([killed.code, killed.stdout], [0, 'Killed 50 queued jobs in queue "low"\n']);
  assertEquals((await bench.store.admin.stats()).dead, 20);
});

Deno.test("--all acts on the jobs that exist at its start, not on later ones", async () => {
  await using bench = await Bench.open(sqlite);
  for (let i = 0; i < 3; i++) await bench.push("A", [i]);
  let late = 0;
  const place = { in: "queue", queue: "default" } as const;
  const busy = interceptStore(bench.store, async ({ verb, args, pass }) => {
    if (verb !== "jobs.edit") return await pass();
    const [selection, edit] = args as [PlaceSelection, Edit];
    const count = await bench.store.jobs.edit({ ...selection, limit: Math.min(selection.limit, 2) }, edit);
    if (++late < 10) await bench.push("Late", []);
    return count;
  });
  const { changed: edited } = await actInSteps(busy, editJobs, DELETE, WORDS);
  const { entries } = await bench.store.admin.page(place);
  assertEquals([edited, entries.map(({ payload }) => JSON.parse(payload).class)], [3, ["Late", "Late"]]);
});

Deno.test("cancel --all removes waiting jobs, and aborts running ones", async () => {
  await using bench = await Bench.open(sqlite);
  await bench.client.pushBulk({ class: "A", queue: "low", args: Array.from({ length: 1_200 }, (_, i) => [i]) });
  const kept = await bench.push("A", [], { queue: "high" });
  assertEquals(
    (await on(bench, ["cancel", "--all", "queued", "-q", "low", "--yes"])).stdout,
    'Cancelled 1,200 queued jobs in queue "low"\n',
  );
  assertEquals(await sizes(bench.store), { high: 1, low: 0 });
  assertEquals((await bench.store.jobs.find([kept])).length, 1);
  assertEquals((await on(bench, ["cancel", "--all", "dead"])).code, 2);
});

Deno.test("cancel --all leaves a record of each job, and reads the queue once", async () => {
  await using redis = await startRedis();
  await using bench = await Bench.open(() => redis.url);
  const args = Array.from({ length: 2_000 }, (_, i) => [i]);
  await bench.client.pushBulk({ class: "A", queue: "low", args });
  const last = await bench.push("A", [], { queue: "low" });
  const sent = async () => Number(/total_net_output_bytes:(\d+)/.exec(await redis.cli("INFO", "stats"))![1]);
  const before = await sent();
  assertEquals(
    (await on(bench, ["cancel", "--all", "queued", "-q", "low", "--yes"])).stdout,
    'Cancelled 2,001 queued jobs in queue "low"\n',
  );
  const each = (await sent() - before) / 2_001;
  assert(each < 3_000, `${each} bytes read for each job`);
  assertEquals((await sizes(bench.store))["low"], 0);
  assertEquals(JSON.parse((await on(bench, ["show", last, "--json"])).stdout).state, "cancelled");
});

Deno.test("cancel --all finds a job that moves meanwhile", async () => {
  await using bench = await Bench.open(sqlite);
  const [moved] = [await bench.push("A", []), await bench.push("A", [])];
  const { jobs: part } = bench.store;
  const busy = interceptStore(bench.store, async ({ verb, pass }) => {
    const answer = await pass();
    if (verb === "admin.page") {
      await part.edit((await part.find([moved])).map(({ ref }) => ref), "requeue", "other");
    }
    return answer;
  });
  const cancel = { action: "cancel", all: { in: "queue:default" } };
  assertEquals((await actInSteps(busy, editJobs, cancel, WORDS)).changed, 2);
  assertEquals(await sizes(bench.store), { default: 0, other: 0 });
});

Deno.test("finds several jids at once, whatever characters they contain", async () => {
  await using redis = await startRedis();
  await using bench = await Bench.open(() => redis.url);
  const jids = ["__proto__", "constructor", "a", "b", "c", "d"];
  for (const jid of jids) {
    await redis.cli("LPUSH", "queue:default", JSON.stringify({ class: "A", args: [], jid, queue: "default" }));
  }
  await redis.cli("SADD", "queues", "default");
  const scans = async (args: string[]) => {
    await redis.cli("CONFIG", "RESETSTAT");
    const { stdout, code } = await on(bench, [...args, "--json"]);
    return [
      summaryOf(JSON.parse(stdout)),
      code,
      /cmdstat_smembers:calls=(\d+)/.exec(await redis.cli("INFO", "commandstats"))?.[1],
    ];
  };
  assertEquals(await scans(["cancel", "__proto__", "constructor", "gone"]), [
    "cancelled 2, gone not_found",
    1,
    "1",
  ]);
  assertEquals(await scans(["kill", "a", "b", "gone", "a"]), ["killed 2, gone not_found", 1, "1"]);
  assertEquals(await scans(["delete", "a", "b", "c", "d"]), ["deleted 4", 0, "1"]);
});

Deno.test("records the progress in the audit log if the store fails during the command", async () => {
  await using bench = await Bench.open(sqlite);
  for (let i = 0; i < 3; i++) await bench.push("A", [i]);
  let steps = 0;
  const failing = interceptStore(bench.store, ({ verb, args, pass }) => {
    if (verb !== "jobs.edit") return pass();
    const [{ in: place }, edit] = args as [PlaceSelection, Edit];
    return ++steps < 3
      ? bench.store.jobs.edit({ in: place, limit: 1 }, edit)
      : Promise.reject(new StoreError("full", "No room"));
  });
  await assertRejects(() => actInSteps(failing, editJobs, DELETE, WORDS), StoreError, "No room");
  const { events } = await readEvents(bench.store);
  assertEquals(events.map(({ count, outcome }) => [count, outcome]), [[2, "ended early: No room"], [3, "begun"]]);
});

Deno.test("a bulk push names rejected lines and stores the others", async () => {
  await using bench = await Bench.open(sqlite);
  const lines = Array.from({ length: 60 }, (_, i) => i % 2 === 0 ? `[${i}]` : `{ "class": "A", "args": ${i} }`);
  const { code, stdout, stderr } = await on(bench, ["push", "A", "--bulk", "-"], lines.join("\n"));
  assertEquals([code, stdout.trim().split("\n").length], [1, 30]);
  assertEquals(stderr.match(/^jobs: line \d+ is invalid: args is/gm)?.length, 20);
  assertStringIncludes(stderr, "jobs: line 2 is invalid: args is 1;");
  assertStringIncludes(stderr, "jobs: 30 lines invalid; the first 20 are named above; 30 lines stored");
  assertEquals((await bench.store.admin.stats()).enqueued, 30);
});

Deno.test("Ctrl-C in a bulk push: printed jids are stored, and the message names the first line that isn't", async () => {
  await using bench = await Bench.open(sqlite);
  const [program, ...first] = jobsCommand();
  const child = new Deno.Command(program, {
    args: [...first, "push", "A", "--bulk", "-"],
    env: { JOBS_STORE: bench.url },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(Array.from({ length: 1_500 }, (_, i) => `[${i}]\n`).join("")));
  // The first batch is stored. The other lines wait for lines that never come.
  await bench.until(async () => (await bench.store.admin.stats()).enqueued >= 1_000);
  child.kill("SIGINT");
  const [{ code }, stdout, stderr] = await Promise.all([
    child.status,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  await writer.abort().catch(() => {});
  const told = stdout.trim().split("\n").length;
  assertEquals(code, 130);
  const [, stored, from] = /Interrupted: ([\d,]+) lines stored, none from line (\d+) on/.exec(stderr) ?? [];
  assertEquals([stored?.replace(",", ""), Number(from)], [String(told), told + 1], stderr);
  assertEquals((await bench.store.admin.stats()).enqueued, told);
});

Deno.test("Ctrl-C in a deletion: the message has the number of deleted jobs", async () => {
  await using bench = await Bench.open(sqlite);
  const total = 60_000;
  await bench.client.pushBulk({ class: "A", args: Array.from({ length: total }, (_, i) => [i]) });
  // Each batch takes a tenth of a second, so that the signal arrives before the last one.
  using database = new DatabaseSync(`${bench.folder}/jobs.db`, { timeout: 10_000 });
  database.exec(`CREATE TRIGGER slow AFTER DELETE ON job WHEN OLD.id % 1000 = 0 BEGIN
    SELECT sum(n) FROM (WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count LIMIT 400000) SELECT n FROM count);
  END`);
  const [program, ...first] = jobsCommand();
  const child = new Deno.Command(program, {
    args: [...first, "clear", "default", "--yes"],
    env: { JOBS_STORE: bench.url },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await until(async () => (await bench.store.admin.stats()).enqueued < total, "a batch is deleted");
  child.kill("SIGINT");
  const { code, stderr, stdout } = await child.output();
  const text = new TextDecoder().decode(stderr);
  const [, deleted] = /Interrupted: deleted ([\d,]+) of 60,000 jobs/.exec(text) ?? [];
  assertEquals([code, new TextDecoder().decode(stdout)], [130, ""], text);
  assert(deleted !== undefined && deleted !== "60,000", text);
  const count = total - Number(deleted.replaceAll(",", ""));
  assertEquals((await bench.store.admin.stats()).enqueued, count);
});

Deno.test("a search draws its progress, and Ctrl-C ends it: the jobs found until then are printed", async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(Number(new URL(redis.url).port));
  const address = new URL(redis.url);
  address.port = String(proxy.port);
  await using bench = await Bench.open(() => address.href);
  // Scheduled jobs are searched first.
  const soon = await bench.push("Invoice", ["94086"], { in: "1h" });
  await bench.client.pushBulk({ class: "Mail", args: Array.from({ length: 30_000 }, (_, i) => [`94086-${i}`]) });
  proxy.delayMs = 100;
  assertMatch(await inTerminal(bench, ["find", "none"], "", 100), /Searching █*░+ \d+ % {2}[\d,]+ of 30,001/);
  proxy.delayMs = 0;
  for (const args of [["find", "94086", "-n", "50000"], ["find", "94086", "--class", "*i*", "--json"]]) {
    const isJson = args.includes("--json");
    proxy.holdAfter(500_000);
    const [program, ...first] = jobsCommand();
    const child = new Deno.Command(program, {
      args: [...first, ...args, ...(isJson ? ["-n", "all"] : [])],
      env: { JOBS_STORE: bench.url },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    await until(() => proxy.weather === "held", "the search has begun");
    child.kill("SIGINT");
    proxy.weather = "fair";
    const output = await child.output();
    const [stdout, stderr] = [output.stdout, output.stderr].map((bytes) => new TextDecoder().decode(bytes)) as [
      string,
      string,
    ];
    assertEquals(output.code, 130, stderr);
    assertMatch(stderr, /^jobs: Interrupted: searched [\d,]+ of 30,001 jobs\n$/);
    if (isJson) assertEquals(JSON.parse(stdout).more, true);
    else assertStringIncludes(stdout, soon);
    const found = stdout.match(/94086-\d+/g)!.length;
    assert(found > 0 && found < 30_000, `${found} found`);
  }
});

Deno.test("Ctrl-C in a list: the cursor continues after the last printed job", async () => {
  await using bench = await Bench.open(sqlite);
  const total = 20_000;
  await bench.client.pushBulk({ class: "A", args: Array.from({ length: total }, (_, i) => [`arg-${i}`]) });
  const [program, ...first] = jobsCommand();
  const child = new Deno.Command(program, {
    args: [...first, "list", "queued", "--limit", "all", "--json"],
    env: { JOBS_STORE: bench.url },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  // Without a reader the command stops within the list, at a full pipe, until it is interrupted.
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  child.kill("SIGINT");
  let stdout = new TextDecoder().decode(value);
  const decoder = new TextDecoder();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    stdout += decoder.decode(part.value, { stream: true });
  }
  const stderr = await new Response(child.stderr).text();
  assertEquals((await child.status).code, 130, stderr);
  assertMatch(stderr, /^jobs: Interrupted: searched [\d,]+ jobs\n$/);
  const { jobs: listed, next } = JSON.parse(stdout);
  assert(listed.length > 0 && listed.length < total, `${listed.length} listed`);
  const rest = JSON.parse((await on(bench, ["list", "queued", "--limit", "1", "--cursor", next, "--json"])).stdout);
  assertStringIncludes(JSON.stringify(rest.jobs), `"arg-${listed.length}"`);
});

Deno.test("long work draws its progress on a terminal, and nothing elsewhere", async () => {
  await using bench = await Bench.open(sqlite);
  const args = Array.from({ length: 60_000 }, (_, i) => [i]);
  await bench.client.pushBulk({ class: "A", args });
  const text = await inTerminal(bench, ["delete", "--all", "queued", "-q", "default", "--yes"], "", 100);
  assertMatch(text, /Deleting █+░* \d+ % {2}[\d,]+ of 60,000 {2}[\d,]+\/s/);
  await bench.client.pushBulk({ class: "A", args });
  const list = ["list", "queued", "--tag", "none", "--limit", "all"];
  assertEquals((await on(bench, list)).stderr, "");
  assertEquals((await on(bench, ["delete", "--all", "queued", "-q", "default", "--yes"])).stderr, "");
});

Deno.test("tables fit the terminal, and have colors only there", async () => {
  await using bench = await Bench.open(sqlite);
  const jid = await bench.push("HardJob", ["日本語".repeat(40)], { queue: "low" });
  await bench.store.admin.configure("low", { pause: true });
  for (const columns of [60, 80, 200]) {
    const text = await inTerminal(bench, ["list", "queued", "-q", "low"], "", columns);
    assertStringIncludes(text, jid);
    assertStringIncludes(text, "…");
    assertStringIncludes(text, "\x1b[1m");
  }
  assertStringIncludes(await inTerminal(bench, ["queues"]), "\x1b[33mpaused");
  const { stdout } = await on(bench, ["list", "queued", "-q", "low"]);
  assertStringIncludes(stdout, "日本語".repeat(40));
  assert(!stdout.includes("\x1b"));
});

Deno.test("bench leaves the store and other files unchanged, even if it is stopped (SQLite, Redis)", async () => {
  await using redis = await startRedis();
  for (const url of [sqlite, () => redis.url]) {
    await using bench = await Bench.open(url);
    await bench.push("A", [], { queue: "jobs-bench" });
    const counts = async () => {
      const { queues, ...stats } = await bench.store.admin.stats();
      return JSON.stringify([stats, queues.map(({ name, size }) => [name, size])]);
    };
    const before = await counts();
    const ended = await on(bench, ["bench", "--jobs", "20"]);
    assertEquals(ended.code, 0, ended.stderr);
    assertMatch(ended.stdout, /run, in one worker +[\d,]+/);
    const [program, ...first] = jobsCommand();
    const child = new Deno.Command(program, {
      args: [...first, "bench", "--jobs", "2000000"],
      env: { JOBS_STORE: bench.url },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const scratch = async () =>
      url === sqlite
        ? (await Array.fromAsync(Deno.readDir(bench.folder))).some(({ name }) => name.startsWith("jobs-bench-"))
        : (await redis.cli("-n", "15", "EXISTS", "jobs:scratch")) === "1";
    await bench.until(scratch, "the benchmark has created a scratch store");
    if (url !== sqlite) await redis.cli("-n", "15", "SET", "invoices:42", "due");
    child.kill("SIGINT");
    const { code, stderr } = await child.output();
    const [said, ...more] = new TextDecoder().decode(stderr).trimEnd().split("\n").toReversed();
    assertEquals([code, said], [130, "jobs: Interrupted: the temporary store is removed"]);
    if (url === sqlite) assertEquals(more, []);
    if (url !== sqlite) {
      assertEquals(more.length, 1);
      assertStringIncludes(more[0]!, 'another program has written 1 key there meanwhile ("invoices:42")');
      assertEquals(await redis.cli("-n", "15", "KEYS", "*"), "invoices:42");
    }
    assertEquals([await scratch(), await counts()], [false, before]);
  }
});
