/** Signals, commands and the dump while a handler blocks the event loop. With real processes. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { until } from "../support/eventually.ts";
import { jobsCommand } from "../support/command.ts";
import { jobs, JobsProcess, temporaryFolder } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { requireRoot } from "../support/tools.ts";
import { descendantsOf } from "../../src/handlers/isolation/process_group.ts";

const AT_DEADLINE = "Event loop is blocked at the shutdown deadline, exiting without it";
const HOUR = 3_600_000;

/** Starts a worker with a job that waits and one that blocks the event loop, in this order. */
async function blocked(bench: Bench, args: readonly string[], env: Record<string, string> = {}) {
  const server = await bench.server(["-c", "2", ...args], env);
  const waiting = await bench.push("Wait", [bench.notes]);
  await bench.noted(`start ${waiting}`);
  const blocking = await bench.push("Block", [bench.notes, HOUR]);
  await bench.noted(`start ${blocking}`);
  return { server, waiting, blocking };
}

async function queued(bench: Bench): Promise<string[]> {
  const { entries } = await bench.store.admin.page({ in: "queue", queue: "default" });
  return entries.map(({ payload }) => JSON.parse(payload).jid);
}

function messages(server: JobsProcess): string[] {
  return server.lines.map(({ msg }) => msg);
}

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`TERM ends a worker whose event loop is blocked, at the deadline, and returns its jobs in order: on ${kind}`, async () => {
    await using redis = kind === "SQLite" ? undefined : await startRedis();
    await using bench = await Bench.open(redis?.url);
    const { server, waiting, blocking } = await blocked(bench, ["-t", "100ms"]);
    await using _server = server;
    const behind = await bench.push("Noop", []);
    server.kill("SIGTERM");
    assertEquals((await server.status()).code, 0);
    assertEquals(await queued(bench), [waiting, blocking, behind]);
    assertEquals(await bench.store.workers.list(), []);
    await server.logged(AT_DEADLINE, { class: "Block", jid: blocking });
    for (const [name, jid] of [["Wait", waiting], ["Block", blocking]]) {
      await server.logged("Returned an unfinished job", { class: name, jid, attempt: 1, queue: "default" });
    }
  });

  Deno.test(`jobs dump and jobs stop reach a worker whose event loop is blocked: on ${kind}`, async () => {
    await using redis = kind === "SQLite" ? undefined : await startRedis();
    await using bench = await Bench.open(redis?.url);
    const { server, blocking } = await blocked(bench, ["-t", "100ms"]);
    await using _server = server;
    const dump = await jobs(["dump", "--all", "--store", bench.url]);
    assertEquals([dump.code, dump.stderr], [0, ""]);
    assertMatch(dump.stdout, new RegExp(`processor-2 +performing +\\S+  Block ${blocking} queue default attempt 1`));
    assertMatch(dump.stdout, new RegExp(`event loop blocked.* by Block ${blocking} \\(processor-2\\)`));
    assertEquals((await jobs(["stop", "--all", "--store", bench.url])).code, 0);
    assertEquals((await server.status()).code, 0);
    assertEquals((await queued(bench)).length, 2);
  });
}

Deno.test("a second INT ends a worker whose event loop is blocked at once", async () => {
  await using bench = await Bench.open();
  const { server, waiting, blocking } = await blocked(bench, ["-t", "1h"]);
  await using _server = server;
  server.kill("SIGINT");
  // Two signals close together may arrive as one.
  const again = setInterval(() => {
    try {
      server.kill("SIGINT");
    } catch {
      // It has ended.
    }
  }, 100);
  try {
    assertEquals((await server.status()).code, 0);
  } finally {
    clearInterval(again);
  }
  assertEquals(await queued(bench), [waiting, blocking]);
});

Deno.test("TTIN while the event loop is blocked prints every task with its job, and which job blocks it", async () => {
  await using bench = await Bench.open();
  const { server, waiting, blocking } = await blocked(bench, []);
  await using _server = server;
  server.kill("SIGTTIN");
  await bench.until(() => messages(server).some((msg) => msg.startsWith("busy ")));
  const lines = messages(server).filter((msg) => /^(task|busy) /.test(msg));
  for (const label of ["heartbeat", "poller", "rescuer", "fetcher", "remote-commands", "control"]) {
    assertEquals(lines.filter((line) => line.includes(`  ${label} `)).length, 1, label);
  }
  assertMatch(lines.find((line) => line.includes("processor-1"))!, new RegExp(`performing +\\S+  Wait ${waiting} `));
  assertMatch(lines.find((line) => line.includes("processor-2"))!, new RegExp(`performing +\\S+  Block ${blocking} `));
  assertMatch(
    lines.at(-1)!,
    new RegExp(`^busy 2, memory .* event loop blocked.* by Block ${blocking} \\(processor-2\\)`),
  );
});

Deno.test("TSTP while the event loop is blocked keeps the worker from taking a job when it turns again", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["-c", "2"]);
  const holding = await bench.push("Hold", [bench.notes]);
  await bench.noted(`start ${holding}`);
  server.kill("SIGTSTP");
  // The thread prints it while the loop is blocked: it has had the signal before.
  server.kill("SIGTTIN");
  await bench.until(() => messages(server).some((msg) => msg.startsWith("busy ")));
  const later = await bench.push("Noop", []);
  await bench.go();
  await server.logged("Quiet: taking no more jobs");
  await bench.noted(`end ${holding}`);
  assertEquals(await queued(bench), [later]);
  server.kill("SIGCONT");
  await bench.until(async () => (await queued(bench)).length === 0, "it takes jobs again");
});

Deno.test("the store and the log name the job that blocks the event loop", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["-c", "2"]);
  const jid = await bench.push("Hold", [bench.notes]);
  await bench.noted(`start ${jid}`);
  await bench.until(async () => (await bench.store.workers.list())[0]?.blocked !== undefined, "it is reported");
  const [worker] = await bench.store.workers.list();
  assertEquals([worker!.blocked?.class, worker!.blocked?.jid, worker!.busy], ["Hold", jid, 1]);
  assertEquals(worker!.work.map(({ payload }) => JSON.parse(payload).jid), [jid]);
  await bench.go();
  await server.logged("Event loop was blocked: a handler did not yield", { class: "Hold", jid });
  await bench.until(async () => (await bench.store.workers.list())[0]?.blocked === undefined, "it is over");
});

Deno.test("a handler that blocks after an await is named if no other job runs", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/late.js`;
  const source = `export async function Late(ctx, file) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    Deno.writeTextFileSync(file, "late\\n", { append: true });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_600_000);
  }`;
  await Deno.writeTextFile(module, source);
  await using server = await bench.server([module, "-c", "2", "-t", "100ms"]);
  const jid = await bench.push("Late", [bench.notes]);
  await bench.noted("late");
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  await server.logged(AT_DEADLINE, { class: "Late", jid });
});

Deno.test("with --processes, TERM ends all while one is blocked, and TTIN names each process and the one that doesn't answer", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["--processes", "3", "-c", "1", "-t", "100ms"], {}, false);
  await server.logged("All processes are ready");
  const jid = await bench.push("Block", [bench.notes, HOUR]);
  await bench.noted(`start ${jid}`);
  server.kill("SIGTTIN");
  const silent = await server.logged("Process doesn't answer: its event loop is blocked, or it is frozen");
  await bench.until(() => server.lines.filter(({ msg }) => msg.startsWith("busy ")).length === 3);
  const line = server.lines.find(({ msg }) => msg.includes(`Block ${jid} queue`));
  assertEquals(line?.process, silent.process);
  const dumped = server.lines.filter(({ msg }) => msg.startsWith("busy ")).map(({ process }) => process);
  assertEquals(dumped.sort(), [1, 2, 3]);
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  assertEquals(await queued(bench), [jid]);
  assertEquals(await bench.store.workers.list(), []);
});

Deno.test("at the deadline of a blocked worker, its isolated processes and programs are killed", async () => {
  await using bench = await Bench.open();
  const config = `${bench.folder}/jobs.json`;
  const pidFile = `${bench.folder}/pid`;
  const exec = ["sh", "-c", `echo $$ >${pidFile}; while :; do :; done`];
  await Deno.writeTextFile(config, JSON.stringify({ exec: [{ class: "Program", exec }] }));
  await using server = await bench.server(["-C", config, "-c", "3", "-t", "100ms", "--isolate", "Hang"]);
  const program = await bench.push("Program", []);
  await bench.until(async () => (await Deno.readTextFile(pidFile).catch(() => "")).trim() !== "");
  const isolated = await bench.push("Hang", [bench.notes]);
  await bench.noted(`start ${isolated}`);
  const children = await descendantsOf(server.pid);
  assert(children.length >= 2 && children.includes(Number(await Deno.readTextFile(pidFile))));
  const blocking = await bench.push("Block", [bench.notes, HOUR]);
  await bench.noted(`start ${blocking}`);
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  assertEquals((await queued(bench)).sort(), [program, isolated, blocking].sort());
  for (const pid of children) await bench.until(async () => !await isRunning(pid), "they have ended");
});

Deno.test("at the deadline of a worker that a handler's execSync blocks, that command is killed with all that it has started", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/exec.js`;
  const started = `${bench.folder}/started`;
  await Deno.writeTextFile(
    module,
    `import { execSync } from "node:child_process";
     export function Exec() { execSync("sh -c 'echo >${started}; sleep 3600; :'; :"); }`,
  );
  await using server = await bench.server([module, "-t", "100ms"]);
  const jid = await bench.push("Exec", []);
  await bench.until(() => Deno.stat(started).then(() => true, () => false));
  const processes = await descendantsOf(server.pid);
  assert(processes.length >= 2);
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  assertEquals(await queued(bench), [jid]);
  for (const pid of processes) await bench.until(async () => !await isRunning(pid), "they have ended");
});

Deno.test("a blocked worker whose store is frozen ends as well, with exit code 1", async () => {
  await using redis = await startRedis();
  await using bench = await Bench.open(redis.url);
  const { server } = await blocked(bench, ["-t", "100ms"]);
  await using _server = server;
  redis.signal("SIGSTOP");
  try {
    server.kill("SIGTERM");
    assertEquals((await server.status()).code, 1);
  } finally {
    redis.signal("SIGCONT");
  }
  assert(messages(server).includes("Unfinished job not returned: it runs again when this worker is offline"));
});

Deno.test("as PID 1, a worker whose event loop is blocked ends on TERM", async () => {
  requireRoot();
  await using bench = await Bench.open();
  // A new PID namespace, in which the worker is process 1: signals have no default action there, not even KILL from inside.
  const server = new Deno.Command("unshare", {
    args: [
      ...["--pid", "--fork", "--mount-proc", "--kill-child", ...jobsCommand()],
      ...["run", bench.handlers, "--store", bench.url, "-t", "100ms"],
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const jid = await bench.push("Block", [bench.notes, HOUR]);
  await bench.noted(`start ${jid}`);
  const [inside] = await descendantsOf(server.pid);
  Deno.kill(inside!, "SIGTERM");
  assertEquals((await server.status).code, 0);
  assertEquals(await queued(bench), [jid]);
});

Deno.test("on a store in memory, TERM ends a worker whose event loop is blocked, too", async () => {
  await using folder = await temporaryFolder();
  const module = `${folder.path}/spin.js`;
  const config = `${folder.path}/jobs.json`;
  await Deno.writeTextFile(
    module,
    `export function Spin() { Deno.writeTextFileSync("${folder.path}/spins", ""); for (;;); }`,
  );
  await Deno.writeTextFile(config, JSON.stringify({ cron: [{ name: "spin", every: "1s", class: "Spin" }] }));
  await using server = new JobsProcess({ store: "sqlite::memory:", args: [module, "-C", config, "-t", "100ms"] });
  await until(() => Deno.stat(`${folder.path}/spins`).then(() => true, () => false), "it spins");
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  await server.logged("Returned an unfinished job", { class: "Spin" });
});

async function isRunning(pid: number): Promise<boolean> {
  return await Deno.stat(`/proc/${pid}`).then(() => true, () => false);
}
