/** Isolated jobs: a failure affects only the job, and the job can be killed. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { exhaustDescriptors, listeningSockets } from "../support/descriptors.ts";
import { isRunning, signalIfRunning } from "../support/pid.ts";
import { jobs, type JobsProcess } from "../support/process.ts";

const HORSES = new URL("../support/horse_handlers.js", import.meta.url).pathname;

/** Lets a horse perform a job, so that the next job does not wait for its start. */
async function warm(bench: Bench, server: JobsProcess): Promise<number> {
  await server.logged("Done", { jid: await bench.push("WhichProcess", [bench.notes]) });
  return await noted(bench, "pid");
}

/** Returns the number that a handler noted after this word. */
async function noted(bench: Bench, word: string): Promise<number> {
  const find = async () => (await bench.readNotes()).find((line) => line.startsWith(`${word} `));
  await bench.until(async () => await find() !== undefined, `a handler notes "${word}"`);
  return Number((await find())!.split(" ")[1]);
}

async function dead(bench: Bench, jid: string): Promise<Record<string, unknown>> {
  await bench.until(async () => (await bench.store.jobs.find([jid]))[0]?.place.in === "dead", `${jid} is dead`);
  return JSON.parse((await bench.store.jobs.find([jid]))[0]!.payload);
}

Deno.test("isolated jobs run in another process, the same one after the other", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server([HORSES]);
  await warm(bench, server);
  await bench.push("WhichProcess", [bench.notes]);
  await bench.until(async () => (await bench.readNotes()).length === 2);
  const [first, second] = await bench.readNotes();
  assertNotEquals(first, `pid ${server.pid}`);
  assertEquals(first, second);
});

Deno.test("listens on no socket while its isolated processes run, and leaves no file behind", async () => {
  await using bench = await Bench.open();
  const temporary = `${bench.folder}/tmp`;
  await Deno.mkdir(temporary);
  await using server = await bench.server([HORSES], { TMPDIR: temporary, XDG_RUNTIME_DIR: "" });
  await warm(bench, server);
  await bench.until(async () => (await listeningSockets(server.pid)).length === 0, "it listens on no socket");
  assertEquals(await Array.fromAsync(Deno.readDir(temporary)), []);
});

Deno.test("isolated jobs wait while no file descriptor is free for a process, and run when some are", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server([HORSES, "-c", "2"]);
  const pid = await warm(bench, server);
  const jids: string[] = [];
  {
    await using _exhausted = await exhaustDescriptors(server.pid);
    Deno.kill(pid, "SIGKILL");
    await bench.until(async () => !await isRunning(pid));
    for (let i = 0; i < 2; i++) jids.push(await bench.push("WhichProcess", [bench.notes], { retry: 0 }));
    await server.logged("Can't start an isolated process, retrying");
  }
  for (const jid of jids) await server.logged("Done", { jid });
  await server.logged("Isolated processes can be started again");
  assertEquals(server.complaints.map(({ msg }) => msg), ["Can't start an isolated process, retrying"]);
});

Deno.test("the setting isolate isolates any class, and a horse is replaced after maxJobsPerIsolatedProcess", async () => {
  await using bench = await Bench.open();
  await using _server = await bench.server(["--isolate", "Crash,Note", "-c", "1"], {
    JOBS_MAX_JOBS_PER_ISOLATED_PROCESS: "1",
  });
  const jid = await bench.push("Crash", [bench.notes], { retry: 0 });
  assertEquals((await dead(bench, jid)).error_class, "Killed:SIGKILL");
  await bench.push("Note", [bench.notes, "after"]);
  await bench.noted("after");
});

Deno.test("a job whose horse never becomes ready ends at its timeout", async () => {
  await using bench = await Bench.open();
  const handlers = `${bench.folder}/stuck.js`;
  await Deno.writeTextFile(
    handlers,
    `if (Deno.args.includes("__horse")) await new Promise((resolve) => setTimeout(resolve, 1e9));
export function Stuck() {}
Stuck.options = { isolate: true, timeout: 1, retry: 0 };
`,
  );
  await using _server = await bench.server([handlers], { JOBS_KILL_AFTER: "300ms" });
  const jid = await bench.push("Stuck", []);
  assertEquals((await dead(bench, jid)).error_class, "Timeout");
});

Deno.test("an isolated endless loop leaves the worker's event loop free, and is killed at its timeout", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server([HORSES], { JOBS_KILL_AFTER: "300ms" });
  await warm(bench, server);
  const pulse = await bench.push("Pulse", [bench.notes]);
  const endless = await bench.push("Spin", [bench.notes]);
  const pid = await noted(bench, "spin");
  const pulses = async () => (await bench.readNotes()).filter((line) => line === "pulse").length;
  const before = await pulses();
  await bench.until(async () => await pulses() >= before + 20, "an inline job continues while the loop runs");
  assert(await isRunning(pid));
  for (const jid of [endless, pulse]) await jobs(["cancel", jid, "--store", bench.url]);
  await bench.until(async () => !await isRunning(pid));

  const jid = await bench.push("Spin", [bench.notes], { timeout: 1 });
  const payload = await dead(bench, jid);
  assertEquals([payload.error_class, payload.error_message], ["Timeout", "Ran for longer than its timeout of 1s"]);
  const pids = (await bench.readNotes()).filter((line) => line.startsWith("spin ")).map((line) => line.split(" ")[1]);
  await bench.until(async () => !await isRunning(Number(pids.at(-1))));
});

Deno.test("a handler that handles its signal ends at its timeout, and its horse continues", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server([HORSES, "-c", "1"], { JOBS_KILL_AFTER: "1h" });
  const pid = await warm(bench, server);
  const jid = await bench.push("ListenAway", [bench.notes], { timeout: 2 });
  assertEquals(await noted(bench, "listen"), pid);
  assertEquals((await dead(bench, jid)).error_class, "Timeout");
  await bench.noted("heard Timeout");
  await bench.push("WhichProcess", [bench.notes]);
  const ran = async () => (await bench.readNotes()).filter((line) => line === `pid ${pid}`).length;
  await bench.until(async () => await ran() === 2, "it performs the next one");
});

Deno.test("a horse that crashes, exits or uses too much memory fails only its job, with the kind of end", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server([HORSES, "--max-memory", "300M"]);
  const neighbour = await bench.push("ListenAway", [bench.notes]);
  await noted(bench, "listen");
  const crashed = await bench.push("Linger", [bench.notes]);
  const pid = await noted(bench, "linger");
  // The first signal may only remove the runtime's own signal handler.
  await bench.until(async () => {
    signalIfRunning(pid, "SIGSEGV");
    return !await isRunning(pid);
  });
  assertEquals((await dead(bench, crashed)).error_class, "Killed:SIGSEGV");
  const exited = await dead(bench, await bench.push("Exit", [3]));
  assertEquals([exited.error_class, exited.error_message], [
    "Exited:3",
    "The process that performed it exited with code 3",
  ]);
  const trapped = await dead(bench, await bench.push("Trap", []));
  assertEquals(trapped.error_class, "Killed:SIGTRAP");
  assertMatch(String(trapped.error_message), /was killed by SIGTRAP, .* heap is full$/);
  const devoured = await dead(bench, await bench.push("Devour", []));
  assertEquals(devoured.error_class, "OutOfMemory");
  // The memory at the moment of the check depends on the machine.
  const [, used] = /used (\d+) MB of memory; the limit is 300 MB$/.exec(String(devoured.error_message)) ?? [];
  assert(Number(used) >= 300, String(devoured.error_message));
  await bench.push("Note", [bench.notes, "still there"]);
  await bench.noted("still there");
  assertEquals((await bench.store.jobs.find([neighbour])).map((entry) => entry.place.in), ["running"]);
  await server.logged("Failed for good, moved to dead", {}, 3);
});

Deno.test("the log lines, pushes and errors of a handler in a horse reach the worker", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server([HORSES]);
  const jid = await bench.push("Talk", [bench.notes, 12345678901234567890n]);
  const payload = await dead(bench, jid);
  assertEquals([payload.error_class, payload.error_message], ["RangeError", "no luck"]);
  for (const msg of ["on stdout", "on stderr"]) await server.logged(msg, { jid, class: "Talk" });
  assertEquals((await server.logged("in the log", { jid })).level, "warn");
  assertMatch(
    String((await server.logged("Failed for good, moved to dead", { jid })).at),
    /deepInside .*horse_handlers/,
  );
  await bench.noted("pushed from a horse");
  await bench.noted("args 12345678901234567890");
});

Deno.test("Discard, Kill and Snooze work in a horse", async () => {
  await using bench = await Bench.open();
  await using _server = await bench.server([HORSES]);
  const snoozed = await bench.push("Verdict", ["Snooze"]);
  const discarded = await bench.push("Verdict", ["Discard"]);
  const killed = await bench.push("Verdict", ["Kill"]);
  assertEquals((await dead(bench, killed)).error_class, "Kill");
  await bench.until(async () => (await bench.store.jobs.find([snoozed]))[0]?.place.in === "scheduled");
  await bench.until(async () => (await bench.store.jobs.find([discarded])).length === 0);
  // The names alone decide nothing.
  for (const name of ["Snooze", "Discard", "Kill", "Cancelled", "StepFailed", "HandlerMissing", "Released"]) {
    const foreign = await bench.push("Foreign", [name]);
    await bench.until(async () => (await bench.store.jobs.find([foreign]))[0]?.place.in === "retry", name);
  }
});

Deno.test("no horse outlives its parent, even if its handler spins and the parent is killed", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server([HORSES, "-c", "2"]);
  await bench.push("Spin", [bench.notes]);
  await bench.push("Linger", [bench.notes]);
  const pids = [await noted(bench, "spin"), await noted(bench, "linger")];
  server.kill("SIGKILL");
  for (const pid of pids) await bench.until(async () => !await isRunning(pid), `${pid} is gone`);
});

Deno.test("a stop returns isolated jobs to their queue and ends their horses", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server([HORSES, "-t", "100ms"], { JOBS_KILL_AFTER: "100ms" });
  const jid = await bench.push("Spin", [bench.notes]);
  const pid = await noted(bench, "spin");
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  assertEquals((await bench.store.jobs.find([jid])).map((entry) => entry.place.in), ["queue"]);
  assert(!await isRunning(pid));
  assertEquals(server.lines.filter((line) => line.msg.startsWith("Failed")), []);
});

Deno.test("handlers that load in the worker but not in a horse fail their jobs with one clear line", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/once.js`;
  await Deno.writeTextFile(
    module,
    `if (Deno.env.get("JOBS_ONCE")) throw new Error("only once");
     Deno.env.set("JOBS_ONCE", "1");
     export function Once() {}
     Once.options = { isolate: true, retry: 0 };`,
  );
  await using _server = await bench.server([module]);
  const payload = await dead(bench, await bench.push("Once", []));
  assertEquals(payload.error_message, `Handlers "${module}" cannot be loaded: Error: only once at ${module}:1:38`);
  await bench.push("Note", [bench.notes, "the rest runs"]);
  await bench.noted("the rest runs");
});

Deno.test("a job waits if its module exports the class in the worker but not in an isolated process", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/half.js`;
  await Deno.writeTextFile(
    module,
    `export function There() {}
     There.options = { isolate: true };
     function perform() {}
     perform.options = { isolate: true, retry: 0 };
     // An export that is not a function is not a handler.
     export const Here = Deno.env.get("JOBS_HALF") ? 0 : perform;
     Deno.env.set("JOBS_HALF", "1");`,
  );
  await using server = await bench.server([module]);
  const jid = await bench.push("Here", []);
  const line = await server.logged("Waits for a worker with its class");
  assertEquals(line.problem, 'No handler for class "Here"; this worker has There');
  await bench.until(async () => (await bench.store.jobs.find([jid]))[0]?.place.in === "scheduled", "it waits");
});
