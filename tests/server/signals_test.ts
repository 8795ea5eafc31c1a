/** Each row of the table of signals, with a real process. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { openStore } from "../../src/store/open.ts";
import { jobsCommand } from "../support/command.ts";
import { jobs, JobsProcess, temporaryFolder } from "../support/process.ts";
import { Bench } from "../support/bench.ts";
import { startRedis } from "../support/redis.ts";
import { requireRoot, requireTool } from "../support/tools.ts";

Deno.test("TERM stops: takes no more jobs, lets the running job end, deregisters, exits with 0", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["-c", "1"]);
  const first = await bench.push("Listen", [bench.notes]);
  await bench.noted(`start ${first}`);
  await bench.push("Note", [bench.notes, "second"]);
  server.kill("SIGTERM");
  await server.logged("Stopping");
  await bench.go();
  assertEquals((await server.status()).code, 0);
  assertEquals(await bench.readNotes(), [`start ${first}`, `end ${first}`]);
  assertEquals(await bench.store.workers.list(), []);
  const { processed, enqueued, running } = await bench.store.admin.stats();
  assertEquals({ processed, enqueued, running }, { processed: 1, enqueued: 1, running: 0 });
});

Deno.test("INT stops; at the deadline unfinished jobs return to the front of their queue, in order", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["-c", "2", "-t", "200ms"]);
  const hanging = await bench.push("Hang", [bench.notes]);
  const waiting = await bench.push("Wait", [bench.notes]);
  await bench.noted(`start ${hanging}`);
  await bench.noted(`start ${waiting}`);
  const behind = await bench.push("Noop", []);
  server.kill("SIGINT");
  // The hanging handler does not delay the other job.
  assertEquals((await server.status()).code, 0);
  const { entries } = await bench.store.admin.page({ in: "queue", queue: "default" });
  assertEquals(entries.map((entry) => JSON.parse(entry.payload).jid), [hanging, waiting, behind]);
  assertEquals((await bench.store.admin.stats()).failed, 0, "a job that was given back has not failed");
});

for (const kind of ["SQLite", "Redis"]) {
  Deno.test(`at the deadline, jobs that end on their signal and jobs that don't return in the order in which they were taken, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const module = `${bench.folder}/late.js`;
    const source = `export async function Late(ctx, file, ms) {
    Deno.writeTextFileSync(file, "start " + ctx.jid + "\\n", { append: true });
    await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    await new Promise((resolve) => setTimeout(resolve, ms));
    throw ctx.signal.reason;
  }`;
    await Deno.writeTextFile(module, source);
    await using server = await bench.server([module, "-c", "3", "-t", "100ms"]);
    const jids: string[] = [];
    for (const ms of [0, 3_600_000, 200]) {
      const jid = await bench.push("Late", [bench.notes, ms]);
      await bench.noted(`start ${jid}`);
      jids.push(jid);
    }
    const behind = await bench.push("Noop", []);
    server.kill("SIGTERM");
    assertEquals((await server.status()).code, 0);
    const { entries } = await bench.store.admin.page({ in: "queue", queue: "default" });
    assertEquals(entries.map((entry) => JSON.parse(entry.payload).jid), [...jids, behind]);
    await server.logged("Returned an unfinished job", { jid: jids[1], handler: "still running" });
    const ended = await server.logged("Returned an unfinished job", { jid: jids[0] });
    assertEquals(ended.handler, undefined);
  });
}

Deno.test("HUP stops a worker whose terminal was closed, and reloads one that has its terminal or was started with nohup", async () => {
  requireTool("python3");
  await using bench = await Bench.open();
  const run = async (nohup: boolean, more: readonly string[] = []) => {
    const log = `${bench.folder}/${[nohup, ...more].join()}.log`;
    const worker = [
      ...jobsCommand(),
      "run",
      bench.handlers,
      "--store",
      bench.url,
      "--log-file",
      log,
      "--log-format",
      "json",
      ...more,
    ];
    const script = new URL("../support/terminal.py", import.meta.url).pathname;
    const child = new Deno.Command("python3", {
      args: [script, log, ...nohup ? ["nohup"] : [], ...worker],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    });
    return new TextDecoder().decode((await child.output()).stdout).trim();
  };
  assertEquals(await run(false), "reloaded, then stopped with 0");
  assertEquals(await run(false, ["--watch"]), "reloaded, then stopped with 0");
  assertEquals(await run(true), "reloaded, then reloaded");
});

Deno.test("a second TERM stops at once, and a job whose handler ignores its signal returns to its queue", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["-c", "1", "-t", "1h"]);
  const jid = await bench.push("Hang", [bench.notes]);
  await bench.noted(`start ${jid}`);
  server.kill("SIGTERM");
  await server.logged("Stopping");
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  assertEquals((await bench.store.jobs.find([jid])).map((entry) => entry.place.in), ["queue"]);
});

for (const signal of ["SIGTSTP", "SIGUSR1"] as const) {
  Deno.test(`${signal} makes the worker quiet: it takes no more jobs and finishes running ones; CONT resumes`, async () => {
    await using bench = await Bench.open();
    await using server = await bench.server();
    const running = await bench.push("Listen", [bench.notes]);
    await bench.noted(`start ${running}`);
    server.kill(signal);
    await server.logged("Quiet: taking no more jobs");
    const later = await bench.push("Note", [bench.notes, "later"]);
    const scheduled = await bench.push("Note", [bench.notes, "scheduled"], { in: 0.01 });
    await bench.go();
    await bench.noted(`end ${running}`);
    assertEquals((await bench.store.jobs.find([later])).map((entry) => entry.place.in), ["queue"]);
    assertEquals((await bench.store.jobs.find([scheduled])).map((entry) => entry.place.in), ["scheduled"]);
    await bench.until(async () => (await bench.store.workers.list())[0]?.quiet === true);
    server.kill("SIGCONT");
    await bench.noted("later");
    await bench.noted("scheduled");
  });
}

Deno.test("USR2 reopens the log file without losing a line", async () => {
  await using bench = await Bench.open();
  const log = `${bench.folder}/jobs.log`;
  const server = new JobsProcess({ store: bench.url, args: [bench.handlers, "--log-file", log, "-c", "1"] });
  await using _server = server;
  const total = 300;
  await bench.until(async () => (await bench.store.workers.list()).length === 1);
  for (let i = 0; i < total; i++) {
    await bench.push("Noop", []);
    if (i === 100 || i === 200) {
      // Some lines are written, and more follow.
      await bench.until(async () => (await bench.store.admin.stats()).processed > i - 50);
      await Deno.rename(log, `${log}.${i}`);
      server.kill("SIGUSR2");
      await bench.until(() => exists(log));
    }
  }
  await bench.until(async () => (await bench.store.admin.stats()).processed === total);
  server.kill("SIGTERM");
  await server.status();
  const texts = await Promise.all([`${log}.100`, `${log}.200`, log].map((file) => Deno.readTextFile(file)));
  assert(texts.every((text) => text.includes('"Done"')), "each file has lines");
  assertEquals(texts.join("").split('"msg":"Done"').length - 1, total);
});

Deno.test("HUP reads the configuration again; a broken file changes nothing and is reported", async () => {
  await using bench = await Bench.open();
  const file = `${bench.folder}/jobs.json`;
  const write = (settings: unknown) => Deno.writeTextFile(file, JSON.stringify(settings));
  await write({ queues: ["a"], concurrency: 1 });
  await using server = await bench.server(["-C", file]);
  await bench.push("Note", [bench.notes, "from b"], { queue: "b" });
  await bench.push("Note", [bench.notes, "from a"], { queue: "a" });
  await bench.noted("from a");
  await write({ queues: ["a", "b"], concurrency: 3, log: { level: "debug" } });
  server.kill("SIGHUP");
  await bench.noted("from b");
  await bench.until(async () => (await bench.store.workers.list())[0]?.concurrency === 3);

  await write({ queues: ["c"], concurrency: "many" });
  server.kill("SIGHUP");
  const line = await server.logged("Request failed");
  assertMatch(String(line.error), /invalid "concurrency" "many": expected a whole number/);
  const jid = await bench.push("Note", [bench.notes, "still"], { queue: "b" });
  await bench.noted("still");
  await server.logged("Start", { jid }); // debug is on
});

Deno.test("TTIN dumps every task by label, with the job it performs; so does jobs dump", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["-c", "2"]);
  const jid = await bench.push("Wait", [bench.notes], { queue: "default" });
  await bench.noted(`start ${jid}`);
  server.kill("SIGTTIN");
  await bench.until(() => server.lines.some((line) => line.msg.startsWith("busy ")));
  const lines = server.lines.map((line) => line.msg).filter((msg) => /^(task|busy) /.test(msg));
  checkDump(lines, jid);

  const dumped = await jobs(["dump", String(server.pid), "--store", bench.url]);
  assertEquals(dumped.code, 0, dumped.stderr);
  checkDump(dumped.stdout.split("\n").slice(1), jid);
});

function checkDump(lines: readonly string[], jid: string): void {
  for (
    const label of [
      "processor-1",
      "processor-2",
      "poller",
      "rescuer",
      "fetcher",
      "heartbeat",
      "remote-commands",
      "control",
    ]
  ) {
    assertEquals(lines.filter((line) => new RegExp(`^task +\\d+  ${label} `).test(line)).length, 1, label);
  }
  const busy = lines.find((line) => line.includes(jid));
  assertMatch(
    busy!,
    new RegExp(
      `processor-\\d +performing +\\S+  Wait ${jid} queue default attempt 1 progress 40 percent last "Waiting for the end"`,
    ),
  );
  assertMatch(
    lines.at(-1) || lines.at(-2)!,
    /busy 1\/2, leases 1, waiting 0, unsettled 0, memory \d+ MB .*event-loop delay \d+ ms/,
  );
}

Deno.test("jobs quiet and jobs stop do what the signals do", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["--tag", "blue"]);
  assertEquals((await jobs(["quiet", "blue", "--store", bench.url])).code, 0);
  await server.logged("Quiet: taking no more jobs", { by: "command" });
  assertEquals((await jobs(["stop", "--all", "--store", bench.url])).code, 0);
  assertEquals((await server.status()).code, 0);
});

for (const args of [[], ["--processes", "2"]]) {
  Deno.test(`as PID 1, ${args.length > 0 ? "the parent of several workers" : "a worker"} stops on TERM and reaps the orphans of jobs`, async () => {
    requireRoot();
    await using folder = await temporaryFolder();
    const url = `sqlite:${folder.path}/jobs.db`;
    await using store = await openStore(url);
    const root = new URL("../../", import.meta.url).pathname;
    // A new PID namespace, in which the worker is process 1.
    const server = new Deno.Command("unshare", {
      args: [
        ...["--pid", "--fork", "--mount-proc", "--kill-child", ...jobsCommand()],
        ...["run", `${root}tests/support/handlers.js`, "--store", url, ...args],
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const bench = await Bench.on(store, folder.path);
    await bench.push("Orphan", [`${folder.path}/orphan`]);
    await bench.until(async () => (await store.admin.stats()).processed === 1);
    // Process 1 of the namespace, and its children, as seen from outside.
    const [inside] = await childrenOf(server.pid);
    await bench.until(async () => {
      const states = await Promise.all((await childrenOf(inside!)).map(stateOf));
      return !states.includes("Z") && await orphanEnded(`${folder.path}/orphan`, inside!);
    });
    Deno.kill(inside!, "SIGTERM");
    assertEquals((await server.status).code, 0);
    assertEquals(await store.workers.list(), []);
  });
}

async function childrenOf(pid: number): Promise<number[]> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`).catch(() => "");
  return text.split(" ").filter(Boolean).map(Number);
}

async function stateOf(pid: number): Promise<string | undefined> {
  const text = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  return text.split(") ")[1]?.[0];
}

/** Returns whether the orphan, by its ID in the namespace, has been reaped and is not a zombie. */
async function orphanEnded(file: string, inside: number): Promise<boolean> {
  const number = Number(await Deno.readTextFile(file));
  return !await exists(`/proc/${inside}/root/proc/${number}`);
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch {
    return false;
  }
}
