/** The pool of isolated processes, within the process of the test. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { HorsePool } from "../../src/handlers/isolation/pool.ts";
import { HandlerError } from "../../src/handlers/registry.ts";
import { LeaseLost } from "../../src/job/errors.ts";
import { openStore } from "../../src/store/open.ts";
import { until } from "../support/eventually.ts";
import { jobContext, runningJob } from "../support/job.ts";
import { KeptLog } from "../support/log.ts";
import { temporaryFolder } from "../support/process.ts";

const HORSES = new URL("../support/horse_handlers.js", import.meta.url).pathname;

/** Returns whether a child has ended with all its threads, so that its files are closed. */
function hasEnded(pid: number): boolean {
  const threads = [...Deno.readDirSync(`/proc/${pid}/task`)].length;
  return threads === 1 && /\) Z/.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
}

Deno.test("a job given to a process that died while it was idle runs in another one", async () => {
  await using folder = await temporaryFolder();
  await using store = await openStore("sqlite::memory:");
  const notes = `${folder.path}/notes`;
  const horses = new HorsePool({
    modules: [HORSES],
    store,
    killAfterMs: 1_000,
    maxMemoryBytes: 0,
    maxJobs: 0,
    clock: systemClock,
    log: new KeptLog(),
  });
  const job = () => jobContext({ class: "WhichProcess", payload: { args: [notes] } });
  await horses.start();
  try {
    await horses.perform(job());
    const [first] = horses.pids;
    Deno.kill(first!, "SIGKILL");
    // The event loop has not turned, so this process has not noticed it.
    while (!hasEnded(first!));
    await horses.perform(job());
    const lines = (await Deno.readTextFile(notes)).trim().split("\n");
    assertEquals(lines.length, 2);
    assertEquals(lines[0], `pid ${first}`);
    assertEquals(lines[1] === lines[0], false);
  } finally {
    await horses.stop();
  }
});

Deno.test("a job that its process hadn't read when it died runs in another one", async () => {
  await using folder = await temporaryFolder();
  await using store = await openStore("sqlite::memory:");
  const notes = `${folder.path}/notes`;
  const options = { modules: [HORSES], store, killAfterMs: 1_000, maxMemoryBytes: 0, maxJobs: 0, clock: systemClock };
  const horses = new HorsePool({ ...options, log: new KeptLog() });
  const job = () => jobContext({ class: "WhichProcess", payload: { args: [notes, "x".repeat(100_000)] } });
  try {
    await horses.perform(job());
    const [first] = horses.pids;
    // As one whose loop is held by code that the job has left running.
    Deno.kill(first!, "SIGSTOP");
    const performing = horses.perform(job());
    for (let i = 0; i < 20; i++) await systemClock.turn();
    Deno.kill(first!, "SIGKILL");
    await performing;
    const lines = (await Deno.readTextFile(notes)).trim().split("\n");
    assertEquals([lines.length, new Set(lines).size], [2, 2]);
  } finally {
    await horses.stop();
  }
});

Deno.test("a job whose process dies after it has read it fails", async () => {
  await using store = await openStore("sqlite::memory:");
  const options = { modules: [HORSES], store, killAfterMs: 1_000, maxMemoryBytes: 0, maxJobs: 0, clock: systemClock };
  const horses = new HorsePool({ ...options, log: new KeptLog() });
  try {
    await assertRejects(() => horses.perform(jobContext({ class: "Exit", payload: { args: [3] } })), Error, "code 3");
    assertEquals(horses.counts.started, 1);
  } finally {
    await horses.stop();
  }
});

Deno.test("a process is replaced after this many jobs, and one without a limit never is", async () => {
  await using folder = await temporaryFolder();
  await using store = await openStore("sqlite::memory:");
  for (const [maxJobs, processes] of [[2, 2], [0, 1]] as const) {
    const notes = `${folder.path}/notes-${maxJobs}`;
    const options = { modules: [HORSES], store, killAfterMs: 1_000, maxMemoryBytes: 0, clock: systemClock };
    const horses = new HorsePool({ ...options, maxJobs, log: new KeptLog() });
    const job = () => jobContext({ class: "WhichProcess", payload: { args: [notes] } });
    try {
      for (let i = 0; i < 3; i++) await horses.perform(job());
      assertEquals([maxJobs, horses.counts.started], [maxJobs, processes]);
      const lines = (await Deno.readTextFile(notes)).trim().split("\n");
      assertEquals([lines.length, new Set(lines).size], [3, processes]);
    } finally {
      await horses.stop();
    }
  }
});

Deno.test("code that an ended job has left running logs as that job, and reports no progress of the next", async () => {
  await using store = await openStore("sqlite::memory:");
  const log = new KeptLog();
  const options = { modules: [HORSES], store, killAfterMs: 1_000, maxMemoryBytes: 0, maxJobs: 0, clock: systemClock };
  const horses = new HorsePool({ ...options, log });
  const jid = "a".repeat(24);
  const next = runningJob({ class: "AwaitTicks", jid: "b".repeat(24) });
  try {
    await assertRejects(() => horses.perform(jobContext({ class: "LeaveRunning", jid })), Error, "ended");
    await horses.perform(next.context);
    assertEquals(horses.counts.started, 1);
  } finally {
    await horses.stop();
  }
  assertEquals(next.lastLines, ["begun"]);
  assertEquals(next.progress, undefined);
  for (const message of ["left running", "Unhandled error"]) {
    const lines = log.lines.filter((line) => line.message === message);
    assert(lines.length >= 3, message);
    for (const { fields } of lines) assertEquals([fields.class, fields.jid], ["LeaveRunning", jid]);
  }
});

Deno.test("a pool that is stopped while it starts a process leaves none", async () => {
  await using store = await openStore("sqlite::memory:");
  const options = { modules: [HORSES], store, killAfterMs: 1_000, maxMemoryBytes: 0, maxJobs: 0, clock: systemClock };
  const horses = new HorsePool({ ...options, log: new KeptLog() });
  const starting = horses.start();
  const performing = assertRejects(
    () => horses.perform(jobContext({ class: "WhichProcess", payload: { args: ["/dev/null"] } })),
    Error,
    "stopped",
  );
  await horses.stop();
  await Promise.all([starting, performing]);
  assertEquals([horses.counts.started, horses.pids], [0, []]);
});

Deno.test("a job that its worker has lost while the process started isn't performed there", async () => {
  await using folder = await temporaryFolder();
  await using store = await openStore("sqlite::memory:");
  const notes = `${folder.path}/notes`;
  const options = { modules: [HORSES], store, killAfterMs: 1_000, maxMemoryBytes: 0, maxJobs: 0, clock: systemClock };
  const running = runningJob({ class: "WhichProcess", payload: { args: [notes] } });
  const lost = new LeaseLost();
  const recheck = () => Promise.resolve(running.abort(lost));
  const horses = new HorsePool({ ...options, recheck, log: new KeptLog() });
  try {
    const error = await assertRejects(() => horses.perform(running.context));
    assertEquals(error, lost);
    await assertRejects(() => Deno.readTextFile(notes), Deno.errors.NotFound);
  } finally {
    await horses.stop();
  }
});

Deno.test("a process that can't load its handlers ends", async () => {
  await using folder = await temporaryFolder();
  await using store = await openStore("sqlite::memory:");
  const module = `${folder.path}/broken.js`;
  await Deno.writeTextFile(module, `throw new Error("broken");`);
  const options = { modules: [module], store, killAfterMs: 1_000, maxMemoryBytes: 0, maxJobs: 0, clock: systemClock };
  const horses = new HorsePool({ ...options, log: new KeptLog() });
  await assertRejects(() => horses.perform(jobContext()), HandlerError, "cannot be loaded: Error: broken");
  await until(() => horses.pids.length === 0, "the process has ended");
  await horses.stop();
});
