/** No job is lost when workers die, freeze or block. With real processes. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs, MORTAL } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { denoCommand, outputOf } from "../../scripts/deno_command.ts";

Deno.test("kill -9 during 5,000 jobs loses none, and repeats only running ones", async () => {
  await using bench = await Bench.open();
  const total = 5_000;
  const server = await bench.server(["-c", "10"], MORTAL);
  await using _first = server;
  const results = await bench.client.pushBulk({
    class: "Note",
    args: Array.from({ length: total }, () => [bench.notes]),
  });
  const jids = results.map((result) => result.jid!);
  assertEquals(new Set(jids).size, total);
  await bench.until(async () => (await bench.readNotes()).length > 500, "some jobs are done");
  server.kill("SIGKILL");
  await server.status();
  const leased = new Set<string>();
  for (let cursor: string | undefined;;) {
    const page = await bench.store.admin.page({ in: "running" }, { limit: 1_000, ...(cursor && { cursor }) });
    for (const entry of page.entries) leased.add(JSON.parse(entry.payload).jid);
    if ((cursor = page.next) === undefined) break;
  }

  await using _second = await bench.server(["-c", "10"], MORTAL);
  await bench.until(async () => {
    const { enqueued, running } = await bench.store.admin.stats();
    return enqueued + running === 0;
  }, "all jobs are done");
  const runs = new Map<string, number>();
  for (const jid of await bench.readNotes()) runs.set(jid, (runs.get(jid) ?? 0) + 1);
  assertEquals(jids.filter((jid) => !runs.has(jid)), [], "lost");
  const twice = [...runs].filter(([, count]) => count > 1);
  assertEquals(
    twice.filter(([jid, count]) => count > 2 || !leased.has(jid)),
    [],
    "repeated without having been leased",
  );
});

Deno.test("two workers and four pushers on one file perform 8,000 jobs exactly once", async () => {
  await using bench = await Bench.open();
  const total = 8_000;
  await using _a = await bench.server(["-c", "10"], { JOBS_LOG_LEVEL: "warn" }, false);
  await using _b = await bench.server(["-c", "10"], { JOBS_LOG_LEVEL: "warn" }, false);
  const pusher = new URL("../support/pusher.ts", import.meta.url).pathname;
  const pushers = Array.from(
    { length: 4 },
    (_, i) => outputOf(denoCommand("run", "-A", pusher, bench.url, String(total / 4), bench.notes, String(i))),
  );
  const outputs = await Promise.all(pushers);
  assert(outputs.every((output) => output.success), outputs.find((o) => !o.success)?.stderr);
  await bench.until(async () => (await bench.store.admin.stats()).processed >= total, "all jobs are done");
  const notes = await bench.readNotes();
  assertEquals(notes.length, total);
  assertEquals(new Set(notes).size, total);
});

Deno.test("a job that kills its worker within milliseconds is dead after 3 rescues, and other jobs run", async () => {
  await using bench = await Bench.open();
  const env = { JOBS_HEARTBEAT_TIMEOUT: "2s" };
  await using _rescuer = await bench.server(["-q", "other"], env);
  const jid = await bench.push("Crash", [bench.notes], { retry: 25 });
  const neighbours = await bench.client.pushBulk({
    class: "Note",
    args: Array.from({ length: 9 }, () => [bench.notes]),
  });
  // After the first death, any of ten jobs may be to blame.
  for (let deaths = 1; deaths <= 4; deaths++) {
    await using worker = await bench.server(["-c", "10"], env, false);
    assertEquals((await worker.status()).signal, "SIGKILL");
  }
  await using _worker = await bench.server(["-c", "10"], env);
  const { state, error } = (await bench.client.result(jid))!;
  assertEquals([state, error!.message], ["dead", "Worker died 3 times while running it"]);
  await bench.until(async () => (await bench.store.admin.stats()).processed === 10, "all others have run");
  assertEquals((await bench.store.admin.stats()).dead, 1);
  const notes = await bench.readNotes();
  assertEquals(notes.filter((line) => line === `start ${jid}`).length, 4);
  for (const { jid } of neighbours) assert(notes.includes(jid!));
});

Deno.test("a worker that was frozen past its heartbeat timeout cannot settle jobs that it has lost", async () => {
  await using bench = await Bench.open();
  const frozen = await bench.server(["-c", "1"], MORTAL);
  await using _frozen = frozen;
  const jid = await bench.push("Ignore", [bench.notes]);
  await bench.noted(`start ${jid}`);
  await bench.freeze(frozen);
  // Another worker rescues the job, and holds its lease when the frozen worker continues.
  await using other = await bench.server(["-c", "1"], MORTAL);
  await other.logged("Rescued jobs of offline workers");
  await bench.until(async () => (await bench.readNotes()).length >= 2, "it runs a second time");
  frozen.kill("SIGCONT");
  await frozen.logged("Leases lost: this worker was offline, and these jobs run again elsewhere");
  await bench.go();
  await other.logged("Done", { jid });
  for (const server of [frozen, other]) {
    server.kill("SIGTERM");
    await server.status();
  }
  const { processed, enqueued, running } = await bench.store.admin.stats();
  assertEquals({ processed, enqueued, running }, { processed: 1, enqueued: 0, running: 0 }, "it was settled once");
});

Deno.test("a handler that blocks the event loop does not lose its lease", async () => {
  await using bench = await Bench.open();
  await using blocked = await bench.server(["-c", "1"], MORTAL);
  // Longer than the heartbeat timeout.
  const jid = await bench.push("Block", [bench.notes, 5_000]);
  await bench.noted(`start ${jid}`);
  await using other = await bench.server(["-c", "1"], MORTAL);
  await blocked.logged("Done", { jid });
  assertEquals(await bench.readNotes(), [`start ${jid}`, `end ${jid}`]);
  assertEquals(other.lines.filter((line) => line.msg.startsWith("Rescued")), []);
  await blocked.logged("Event loop was blocked: a handler did not yield");
});

Deno.test("no error of a handler ends the worker", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["-c", "10"]);
  const thrown = await bench.push("ThrowNull", [], { retry: 0 });
  await bench.push("RejectLate", []);
  await bench.push("ThrowLate", []);
  await bench.push("Hang", [bench.notes]);
  await bench.push("Shout", []);
  const missing = await bench.push("NoSuchClass", []);
  const failing = await bench.push("Fail", ["\u0000 \x1b[31m oops"]);
  await bench.until(async () => (await bench.store.jobs.find([thrown]))[0]?.place.in === "dead", "null was thrown");
  await bench.until(
    async () => (await bench.store.jobs.find([failing]))[0]?.place.in === "dead",
    "it failed three times",
  );
  await bench.until(
    async () => (await bench.store.jobs.find([missing]))[0]?.place.in === "queue",
    "it waits for a worker that has its class",
  );
  const dead = JSON.parse((await bench.store.jobs.find([failing]))[0]!.payload);
  assertEquals([dead.error_class, dead.retry_count], ["RangeError", 2]);
  const late = await server.logged("Unhandled error", { class: "RejectLate" });
  assert(String(late.error).includes("too late"));
  await server.logged("Unhandled error", {}, 2);
  await bench.push("Note", [bench.notes, "alive"]);
  await bench.noted("alive");
});

const STEPS = new URL("../support/step_handlers.js", import.meta.url).pathname;

/** Cancels a job as an operator does, while its worker can't notice it. */
async function cancel(bench: Bench, jid: string): Promise<void> {
  assertEquals((await jobs(["cancel", jid, "--store", bench.url])).stdout, "Cancelled 1 job\n");
}

/** Waits until a job has ended as cancelled, and its worker is gone. */
async function endsCancelled(bench: Bench, jid: string): Promise<void> {
  const result = await bench.client.result(jid);
  assertEquals([result?.state, result?.error], ["cancelled", undefined]);
  await bench.until(async () => {
    const { enqueued, running } = await bench.store.admin.stats();
    return enqueued + running === 0 && (await bench.store.workers.list()).every(({ alive }) => alive);
  }, "nothing runs");
}

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`a job that is cancelled after kill -9 of its worker ends as cancelled, and never runs again, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await using worker = await bench.server([STEPS, "-c", "1"], MORTAL);
    const batch = await bench.client.batches.open();
    const jid = "1a1fd5150c39f4ae2f200001";
    await batch.add({ class: "TwoSteps", args: [bench.notes], jid });
    await batch.close();
    await bench.noted("two 1 true");
    const fence = await bench.push("Note", [bench.notes]);
    worker.kill("SIGKILL");
    await worker.status();
    await cancel(bench, jid);
    await bench.go();
    await using other = await bench.server([STEPS, "-c", "1"], MORTAL);
    await endsCancelled(bench, jid);
    await other.logged("Cancelled");
    await bench.noted(fence);
    assertEquals(await bench.readNotes(), ["one", "two 1 true", fence]);
    assertEquals(await bench.store.steps.read(jid), []);
    assertEquals((await bench.client.batches.wait(batch.id))?.cancelled, 1);
  });

  Deno.test(`a worker that was frozen aborts the job that was cancelled meanwhile, and can't settle it, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await using worker = await bench.server(["-c", "1"], MORTAL);
    const jid = await bench.push("Listen", [bench.notes]);
    await bench.noted(`start ${jid}`);
    await bench.freeze(worker);
    await cancel(bench, jid);
    await using _other = await bench.server(["-c", "1"], MORTAL);
    await endsCancelled(bench, jid);
    worker.kill("SIGCONT");
    await bench.until(async () => (await bench.readNotes()).length === 2, "it aborts the job");
    assertMatch((await bench.readNotes())[1]!, /^(LeaseLost|Cancelled) /);
    worker.kill("SIGTERM");
    await worker.status();
    assertEquals((await bench.client.result(jid))?.state, "cancelled");
  });

  Deno.test(`a worker that stops before it could abort a cancelled job doesn't return it to its queue, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await using worker = await bench.server(["-c", "1", "-t", "1s"]);
    const jid = await bench.push("Hold", [bench.notes]);
    await bench.noted(`start ${jid}`);
    await cancel(bench, jid);
    worker.kill("SIGTERM");
    assertEquals((await worker.status()).code, 0);
    await bench.go();
    await using _other = await bench.server(["-c", "1"], MORTAL);
    await endsCancelled(bench, jid);
    assertEquals(await bench.readNotes(), [`start ${jid}`]);
  });
}
