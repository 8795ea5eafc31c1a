/** Several workers under one parent (`--processes`). */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { basename } from "node:path";
import { descendantsOf } from "../../src/handlers/isolation/process_group.ts";
import { Bench } from "../support/bench.ts";
import { jobsCommand, runHere } from "../support/command.ts";
import { exhaustDescriptors, listeningSockets } from "../support/descriptors.ts";
import { isRunning, signalIfRunning } from "../support/pid.ts";
import { jobs, JobsProcess, MORTAL } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

/** Returns the process IDs of the live workers that take jobs. */
async function pids(bench: Bench): Promise<number[]> {
  return (await bench.store.workers.list()).filter((worker) => worker.alive && !worker.quiet).map(({ pid }) => pid);
}

async function serve(bench: Bench, args: readonly string[] = [], env = {}): Promise<JobsProcess> {
  const server = await bench.server(["--processes", "2", ...args], env);
  await server.logged("All processes are ready");
  return server;
}

Deno.test("--processes keeps this many workers running, with one pidfile and numbered names; TERM stops all", async () => {
  await using bench = await Bench.open();
  const path = `${bench.folder}/pid`;
  await using server = await serve(bench, ["--pid-file", path, "--name", "mail"]);
  assertEquals(await Deno.readTextFile(path), `${server.pid}\n`);
  const workers = await bench.store.workers.list();
  assertEquals(workers.map((worker) => worker.tag).sort(), ["mail.1", "mail.2"]);
  const running = await bench.push("Sleep", [bench.notes, 300]);
  await bench.noted(`start ${running}`);
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  await bench.noted(`end ${running}`);
  assertEquals(await bench.store.workers.list(), []);
  for (const { pid } of workers) assert(!await isRunning(pid));
});

Deno.test("a worker that dies is started again, and its job runs again", async () => {
  await using bench = await Bench.open();
  await using server = await serve(bench, [], MORTAL);
  const before = await pids(bench);
  const jid = await bench.push("Listen", [bench.notes]);
  await bench.noted(`start ${jid}`);
  const victim = (await bench.store.jobs.find([jid]))[0]!.worker!.split(":")[1]!;
  Deno.kill(Number(victim), "SIGKILL");
  await server.logged("Process was killed by SIGKILL, starting another");
  await bench.until(async () => (await pids(bench)).length === 2 && !(await pids(bench)).includes(Number(victim)));
  assert((await pids(bench)).some((pid) => before.includes(pid)), "the other one went on");
  await bench.go();
  await bench.noted(`end ${jid}`);
});

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`a worker that dies by kill -9 has its name again at once, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    // With this timeout, the dead worker counts as alive for longer than any test takes.
    await using server = await serve(bench, ["--name", "mail"]);
    const before = await bench.store.workers.list();
    for (const name of ["mail.1", "mail.2"]) {
      const { pid } = before.find(({ tag }) => tag === name)!;
      Deno.kill(pid, "SIGKILL");
      await server.logged("Process was killed by SIGKILL, starting another", { pid });
    }
    const readyAgain = () =>
      server.lines.filter(({ msg, worker }) => msg === "Ready" && !before.some((old) => old.id === worker));
    await bench.until(() => readyAgain().length === 2, "both are ready again");
    const after = (await bench.store.workers.list()).filter(({ pid }) => !before.some((old) => old.pid === pid));
    assertEquals(after.map(({ tag }) => tag).sort(), ["mail.1", "mail.2"]);
    assertEquals(server.complaints.filter(({ msg }) => !msg.startsWith("Process was killed")), []);
  });
}

Deno.test("HUP replaces the workers one at a time, and at least one takes jobs at any time", async () => {
  await using bench = await Bench.open();
  await using server = await serve(bench);
  const before = await pids(bench);
  server.kill("SIGHUP");
  let fewest = 2;
  await bench.until(async () => {
    const now = await pids(bench);
    fewest = Math.min(fewest, now.length);
    await bench.push("Note", [bench.notes, "taken"]);
    return now.length === 2 && !now.some((pid) => before.includes(pid));
  });
  assert(fewest >= 1, `${fewest}`);
  await bench.until(async () => (await bench.store.admin.stats()).enqueued === 0);
  assertEquals((await bench.store.admin.stats()).failed, 0);
});

Deno.test("the parent forwards signals: TSTP makes all workers quiet, CONT resumes them", async () => {
  await using bench = await Bench.open();
  await using server = await serve(bench);
  server.kill("SIGTSTP");
  await bench.until(async () => (await pids(bench)).length === 0);
  server.kill("SIGCONT");
  await bench.until(async () => (await pids(bench)).length === 2);
});

Deno.test("while workers are quiet, one that is started becomes quiet as well", async () => {
  await using bench = await Bench.open();
  await using server = await serve(bench);
  const [victim] = await pids(bench);
  server.kill("SIGTSTP");
  await bench.until(async () => (await pids(bench)).length === 0);
  Deno.kill(victim!, "SIGKILL");
  await server.logged("Ready", {}, 3);
  await server.logged("Quiet: taking no more jobs", { by: "SIGTSTP" }, 3);
  server.kill("SIGCONT");
  await bench.until(async () => (await pids(bench)).filter((pid) => pid !== victim).length === 2);
});

Deno.test("USR2 doesn't end a worker that doesn't listen yet", async () => {
  await using bench = await Bench.open();
  const config = `${bench.folder}/jobs.json`;
  await runHere("mkfifo", [config]);
  const args = [bench.handlers, "--processes", "2", "--config", config];
  await using server = new JobsProcess({ store: bench.url, args });
  // Each process reads it before it listens, and waits until it is written.
  await Deno.writeTextFile(config, "{}");
  await server.logged("Starting processes");
  await bench.until(async () => (await descendantsOf(server.pid)).length > 0, "the first worker has been started");
  server.kill("SIGUSR2");
  server.kill("SIGTTIN");
  await server.logged("Process has no dump: it is still starting");
  await Deno.writeTextFile(config, "{}");
  await server.logged("Ready");
  await Deno.writeTextFile(config, "{}");
  await server.logged("All processes are ready");
  assertEquals(server.complaints.map(({ msg }) => msg), ["Process has no dump: it is still starting"]);
});

Deno.test("HUP while the first worker starts replaces it when it takes jobs", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/late.js`;
  await Deno.writeTextFile(
    module,
    `while (!await Deno.stat(${JSON.stringify(`${bench.notes}.go`)}).catch(() => undefined)) {
       await new Promise((resolve) => setTimeout(resolve, 20));
     }
     export function Late() {}`,
  );
  await using server = await bench.server(["--processes", "2", module], {}, false);
  await bench.until(async () => (await descendantsOf(server.pid)).length > 0, "the first worker has been started");
  server.kill("SIGHUP");
  await server.logged("Replacing the processes, one after the other");
  await bench.go();
  const { worker } = await server.logged("Ready", { process: 1 });
  await server.logged("All processes are ready");
  await server.logged("Ready", { process: 1 }, 2);
  await bench.until(async () => (await pids(bench)).length === 2);
  assert(!(await pids(bench)).includes(Number(String(worker).split(":")[1])));
  assertEquals(server.complaints, []);
});

Deno.test("HUP replaces a worker whose start is stuck, also if that spins, and the exit code is that of the last workers", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/deployed.js`;
  const deploy = (start: string) => Deno.writeTextFile(module, `${start}; export function Deployed() {}`);
  const note = `Deno.writeTextFileSync(${JSON.stringify(bench.notes)}, "loading\\n", { append: true })`;
  await deploy("");
  await using server = await serve(bench, [module]);
  const before = await pids(bench);
  await deploy(`${note}; for (;;)`);
  server.kill("SIGHUP");
  await bench.noted("loading");
  await deploy("");
  server.kill("SIGHUP");
  await server.logged("Process doesn't stop, killing it");
  await bench.until(async () => {
    const now = await pids(bench);
    return now.length === 2 && !now.some((pid) => before.includes(pid));
  });
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
});

Deno.test("no worker outlives its parent: after kill -9 of the parent, the workers stop in order", async () => {
  await using bench = await Bench.open();
  await using server = await serve(bench);
  const children = await pids(bench);
  const running = await bench.push("Sleep", [bench.notes, 300]);
  await bench.noted(`start ${running}`);
  server.kill("SIGKILL");
  for (const pid of children) await bench.until(async () => !await isRunning(pid));
  await bench.noted(`end ${running}`);
  assertEquals(await bench.store.workers.list(), []);
});

Deno.test("no worker outlives its parent while it waits for its name", async () => {
  await using bench = await Bench.open();
  await using dead = await bench.server(["--name", "mail.1"]);
  dead.kill("SIGKILL");
  await using server = await bench.server(["--processes", "2", "--name", "mail"], {}, false);
  await server.logged("Waiting until the worker that has the name is offline");
  const { pid } = (await bench.store.workers.list()).find((worker) => worker.pid !== dead.pid)!;
  server.kill("SIGKILL");
  try {
    await bench.until(async () => !await isRunning(pid));
  } finally {
    signalIfRunning(pid, "SIGKILL");
  }
});

Deno.test("no worker outlives its parent while its handlers load", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/loading.js`;
  await Deno.writeTextFile(
    module,
    `Deno.writeTextFileSync(${JSON.stringify(bench.notes)}, "loading " + Deno.pid + "\\n");
     await new Promise(() => {});`,
  );
  await using server = new JobsProcess({ store: bench.url, args: [module, "--processes", "2"] });
  await bench.until(async () => (await bench.readNotes()).length === 1);
  const pid = Number((await bench.readNotes())[0]!.split(" ")[1]);
  server.kill("SIGKILL");
  try {
    await bench.until(async () => !await isRunning(pid));
  } finally {
    signalIfRunning(pid, "SIGKILL");
  }
});

Deno.test("a worker that blocks its event loop doesn't outlive a parent killed with kill -9, and others stop in order", async () => {
  await using bench = await Bench.open();
  await using server = await serve(bench, ["-t", "500ms", "-c", "1"]);
  const children = await pids(bench);
  const jid = await bench.push("Block", [bench.notes, 3_600_000]);
  await bench.noted(`start ${jid}`);
  const spinning = Number((await bench.store.jobs.find([jid]))[0]!.worker!.split(":")[1]);
  server.kill("SIGKILL");
  try {
    for (const pid of children) await bench.until(async () => !await isRunning(pid), `${pid} ends`);
  } finally {
    signalIfRunning(spinning, "SIGKILL");
  }
  assertEquals(await bench.store.workers.list(), []);
  assertEquals((await bench.store.jobs.find([jid])).map((entry) => entry.place.in), ["queue"]);
});

Deno.test("the parent listens on no socket while its workers run, and leaves no file behind", async () => {
  await using bench = await Bench.open();
  const temporary = `${bench.folder}/tmp`;
  await Deno.mkdir(temporary);
  await using server = await serve(bench, [], { TMPDIR: temporary, XDG_RUNTIME_DIR: "" });
  await bench.until(async () => (await listeningSockets(server.pid)).length === 0, "it listens on no socket");
  assertEquals(await Array.fromAsync(Deno.readDir(temporary)), []);
});

Deno.test("a parent without a free file descriptor keeps its workers, and replaces dead ones when some are free", async () => {
  await using bench = await Bench.open();
  await using server = await serve(bench);
  const [victim, survivor] = await pids(bench) as [number, number];
  {
    await using _exhausted = await exhaustDescriptors(server.pid);
    Deno.kill(victim, "SIGKILL");
    await server.logged("Process was killed by SIGKILL, starting another", { pid: victim });
    await server.logged("Can't start a process, retrying");
  }
  await bench.until(async () => {
    const now = await pids(bench);
    return now.filter((pid) => pid !== victim).length === 2 && now.includes(survivor);
  });
});

Deno.test("after an upgrade has replaced the executable, HUP and a death start workers of the new one", async () => {
  await using bench = await Bench.open();
  const [program, ...args] = jobsCommand();
  const executable = `${bench.folder}/${basename(program)}`;
  await Deno.copyFile(program, executable);
  await Deno.copyFile(program, `${executable}.new`);
  const command = [executable, ...args, "run", bench.handlers, "--store", bench.url, "--processes", "2"];
  await using server = new JobsProcess({ store: bench.url, command });
  await server.logged("All processes are ready");
  const before = await pids(bench);
  await Deno.rename(`${executable}.new`, executable);
  server.kill("SIGHUP");
  await bench.until(async () => {
    const now = await pids(bench);
    return now.length === 2 && !now.some((pid) => before.includes(pid));
  });
  const [victim] = await pids(bench);
  Deno.kill(victim!, "SIGKILL");
  await bench.until(async () => (await pids(bench)).filter((pid) => pid !== victim).length === 2);
});

Deno.test("a worker that uses too much memory is replaced when its jobs have ended", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/module.js`;
  await Deno.writeTextFile(
    module,
    `const kept = [];
     export function Eat() { for (let i = 0; i < 30; i++) kept.push(new Uint8Array(10_000_000).fill(1)); }`,
  );
  await using server = await serve(bench, [module, "--max-memory", "350M"]);
  const before = await pids(bench);
  await bench.push("Eat", []);
  await server.logged("Process uses too much memory, replacing it");
  await bench.until(async () => (await pids(bench)).filter((pid) => before.includes(pid)).length === 1);
  await bench.until(async () => (await pids(bench)).length === 2);
  assertEquals((await bench.store.admin.stats()).failed, 0);
});

Deno.test("--processes with --burst ends when all workers have ended", async () => {
  await using bench = await Bench.open();
  await bench.client.pushBulk({ class: "Noop", args: Array.from({ length: 2_000 }, () => []) });
  await using server = await bench.server(["--processes", "2", "--burst"]);
  assertEquals((await server.status()).code, 0);
  assertEquals((await bench.store.admin.stats()).processed, 2_000);
});

Deno.test("a parent exits with the code of a worker that could not stop cleanly", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/module.js`;
  await Deno.writeTextFile(module, `addEventListener("unload", () => Deno.exit(3)); export function Quick() {}`);
  await using server = await serve(bench, [module]);
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 3);
});

Deno.test("an error that keeps the first worker from starting is printed once, with the exit code of that worker", async () => {
  await using bench = await Bench.open();
  const path = `${bench.folder}/broken.js`;
  await Deno.writeTextFile(path, `throw new Error("at import");`);
  const { code, stderr } = await jobs(["run", path, "--processes", "2", "--store", bench.url], {
    env: { JOBS_LOG_LEVEL: "error" },
  });
  assertEquals(code, 1);
  assertMatch(stderr, /^jobs: Handlers ".*" cannot be loaded: Error: at import.*\n$/);
  const wrong = await jobs(["run", bench.handlers, "--processes", "many", "--store", bench.url]);
  assertEquals(wrong.code, 2);
  assertMatch(wrong.stderr, /many.*expected a whole number from 1 to 256, or auto for one per core/);
});

Deno.test("a process that is frozen delays a stop by its timeout and five seconds, then it is killed, and the exit code is 1", async () => {
  await using bench = await Bench.open();
  await using server = await serve(bench, ["-t", "0", "-c", "1"]);
  const [frozen] = await pids(bench);
  Deno.kill(frozen!, "SIGSTOP");
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 1);
  await server.logged("Process doesn't stop, killing it", { pid: frozen });
  assertEquals((await bench.store.workers.list()).map(({ pid }) => pid), [frozen]);
});
