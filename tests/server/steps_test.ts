/** Durable steps in real workers that die, freeze and stop. */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs, type JobsProcess, MORTAL } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { cancelJob } from "../../src/store/ops/cancel.ts";

const HANDLERS = new URL("../support/step_handlers.js", import.meta.url).pathname;

function worker(bench: Bench, args: readonly string[] = [], env: Record<string, string> = {}): Promise<JobsProcess> {
  return bench.server([HANDLERS, ...args], env);
}

/** Waits until a job has ended, and returns its result. */
async function resultOf(bench: Bench, jid: string): Promise<unknown> {
  return (await bench.client.result(jid))?.result;
}

Deno.test("after kill -9 in the second step, the first is not repeated, and its value is the same", async () => {
  await using bench = await Bench.open();
  await using first = await worker(bench, [], MORTAL);
  const jid = await bench.push("TwoSteps", [bench.notes]);
  await bench.noted("two 1 true");
  first.kill("SIGKILL");
  await first.status();
  await using _second = await worker(bench, [], MORTAL);
  await bench.go();
  await bench.noted("end 12345678901234567890 2");
  assertEquals(await bench.readNotes(), ["one", "two 1 true", "two 1 true", "end 12345678901234567890 2"]);
  await bench.until(async () => (await bench.store.steps.read(jid)).length === 0, "its steps are gone");
});

Deno.test("a worker that was frozen past the heartbeat timeout writes no step when it continues", async () => {
  await using bench = await Bench.open();
  await using first = await worker(bench, [], MORTAL);
  const jid = await bench.push("TwoSteps", [bench.notes]);
  await bench.noted("two 1 true");
  await bench.freeze(first);
  await using second = await worker(bench, [], MORTAL);
  await second.logged("Starting a suspect: a worker died while it may have been running");
  await bench.until(async () => (await bench.readNotes()).length === 3, "the second worker is in the second step");
  const before = await bench.store.steps.read(jid);
  // The second worker is frozen now: only the first could write.
  await bench.freeze(second);
  await bench.go();
  first.kill("SIGCONT");
  await first.logged("Stopped after losing its lease: the job runs again");
  assertEquals(await bench.store.steps.read(jid), before);
});

Deno.test("a handler that catches the end of its attempt sleeps anyway", async () => {
  await using bench = await Bench.open();
  await using _worker = await worker(bench);
  const jid = await bench.push("Swallows", [bench.notes]);
  assertEquals(await resultOf(bench, jid), "ended");
  assertEquals(await bench.readNotes(), ["caught", "woke"]);
});

for (const [kind, isolate] of [["SQLite", false], ["SQLite", true], ["Redis", false], ["Redis", true]] as const) {
  Deno.test(`on ${kind}, sleeps, signals, children and items ${isolate ? "in an isolated process" : "inline"}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await using _worker = await worker(bench, isolate ? ["--isolate", "Every"] : []);
    const jid = await bench.push("Every", [bench.notes]);
    await bench.until(async () => (await bench.store.steps.read(jid)).length === 2, "it waits for the signal");
    await bench.client.signal(`every:${jid}`, { by: "ann" });
    assertEquals(await resultOf(bench, jid), { said: { by: "ann" }, child: 42, count: 3 });
    assertEquals(await bench.readNotes(), ["item 1", "item 2", "item 3"]);
    const kept = (await bench.client.result(jid))?.steps?.map(({ name }) => name);
    assertEquals(kept, ["nap", "approval", "child", "items"]);
  });
}

Deno.test("a burst worker continues a job whose child has just ended, also if no message tells it that the job is due", async () => {
  await using redis = await startRedis();
  await redis.cli("ACL", "SETUSER", "default", "resetchannels");
  await using bench = await Bench.open(redis.url);
  await bench.push("Parent", []);
  await using burst = await bench.server([HANDLERS, "--burst"], {}, false);
  assertEquals((await burst.status()).code, 0);
  const { processed, scheduled } = await bench.store.admin.stats();
  assertEquals([processed, scheduled], [2, 0]);
});

Deno.test("a worker that stops releases an iteration after an item, and the next worker continues without using an attempt", async () => {
  await using bench = await Bench.open();
  await using first = await worker(bench);
  await bench.push("Items", [bench.notes]);
  await bench.noted("item 2");
  first.kill("SIGTERM");
  assertEquals((await first.status()).code, 0);
  assertEquals((await bench.store.admin.stats()).enqueued, 1);
  await using second = await worker(bench);
  await bench.noted("item 3");
  second.kill("SIGTERM");
  await second.status();
  await using _third = await worker(bench);
  await bench.noted("end 1");
  const items = (await bench.readNotes()).filter((line) => line.startsWith("item"));
  assertEquals(items, ["item 0", "item 1", "item 2", "item 3", "item 4"]);
});

for (const isolate of [false, true]) {
  Deno.test(`a step after which the job ends at once leaves nothing in the store, ${isolate ? "isolated" : "inline"}`, async () => {
    await using bench = await Bench.open();
    await using _worker = await worker(bench, isolate ? ["--isolate", "OneStep"] : []);
    const jid = await bench.push("OneStep", [bench.notes]);
    assertEquals(await resultOf(bench, jid), 1);
    assertEquals(await bench.store.steps.read(jid), []);
  });

  Deno.test(`a step after which the attempt fails at once is stored, ${isolate ? "isolated" : "inline"}`, async () => {
    await using bench = await Bench.open();
    await using _worker = await worker(bench, isolate ? ["--isolate", "StepThenFails"] : []);
    const jid = await bench.push("StepThenFails", [bench.notes]);
    await bench.until(async () => (await bench.store.admin.stats()).dead === 1, "it is dead");
    assertEquals((await bench.store.steps.read(jid)).map(({ name }) => name), ["one"]);
  });

  Deno.test(`a step is stored while the code after it waits, ${isolate ? "isolated" : "inline"}`, async () => {
    await using bench = await Bench.open();
    await using _worker = await worker(bench, isolate ? ["--isolate", "StepThenWaits"] : []);
    const jid = await bench.push("StepThenWaits", [bench.notes]);
    await bench.until(async () => (await bench.store.steps.read(jid)).length === 1, "the step is stored");
    await bench.go();
    assertEquals(await resultOf(bench, jid), 1);
    assertEquals(await bench.store.steps.read(jid), []);
  });
}

for (const isolate of [false, true]) {
  const how = isolate ? "isolated" : "inline";

  Deno.test(`a step that ends after one next to it has failed is stored, and does not run again, ${how}`, async () => {
    await using bench = await Bench.open();
    await using _worker = await worker(bench, isolate ? ["--isolate", "SideBySide"] : []);
    const jid = await bench.push("SideBySide", [bench.notes]);
    await bench.noted("fails");
    await bench.go();
    await bench.noted("end");
    const [slow, fails, value, ...rest] = await bench.readNotes();
    assertEquals([slow, fails], ["slow", "fails"]);
    assertEquals(rest.toSorted(), ["after slow 2", "end", "fails", value].toSorted());
    await bench.until(async () => (await bench.store.steps.read(jid)).length === 0, "its steps are gone");
  });

  Deno.test(`a job ends after a step that its handler did not await, and leaves nothing in the store, ${how}`, async () => {
    await using bench = await Bench.open();
    await using _worker = await worker(bench, isolate ? ["--isolate", "Forgets"] : []);
    const jid = await bench.push("Forgets", [bench.notes]);
    await bench.noted("forgotten");
    await bench.go();
    assertEquals((await bench.client.result(jid))?.state, "succeeded");
    assertEquals(await bench.readNotes(), ["forgotten", "step ended"]);
    assertEquals(await bench.store.steps.read(jid), []);
  });
}

for (const isolate of [false, true]) {
  Deno.test(`a step that begins after its job has ended writes to no job, ${isolate ? "isolated" : "inline"}`, async () => {
    await using bench = await Bench.open();
    // With one processor, both jobs run in the same isolated process.
    await using _worker = await worker(bench, [
      "--concurrency",
      "1",
      ...(isolate ? ["--isolate", "Late,StepThenWaits"] : []),
    ]);
    const notes = `${bench.notes}.late`;
    const late = await bench.push("Late", [notes]);
    assertEquals((await bench.client.result(late))?.state, "succeeded");
    const next = await bench.push("StepThenWaits", [bench.notes]);
    const names = async () => (await bench.store.steps.read(next)).map(({ name }) => name);
    await bench.until(async () => (await names()).length === 1, "the next job runs");
    await Deno.writeTextFile(`${notes}.go`, "");
    const note = () => Deno.readTextFile(notes).catch(() => "");
    await bench.until(async () => (await note()) !== "", "the late step has begun");
    assertEquals(await note(), "A step begins after its handler has ended; await each step\n");
    assertEquals(await names(), ["one"]);
    await bench.go();
    assertEquals(await resultOf(bench, next), 1);
  });
}

Deno.test("jobs steps rerun repeats a dead job from a step: completed ones before it do not run", async () => {
  await using bench = await Bench.open();
  await using _worker = await worker(bench);
  const jid = await bench.push("Fails", [bench.notes]);
  const isDead = async () => (await bench.store.admin.stats()).dead === 1;
  await bench.until(isDead, "it is dead");
  const { code, stdout } = await jobs(["steps", "rerun", jid, "b", "--yes"], { env: { JOBS_STORE: bench.url } });
  assertEquals([code, stdout], [0, "Cleared 2 steps; the job is queued\n"]);
  await bench.until(async () => (await bench.readNotes()).length === 5 && await isDead(), "it is dead again");
  assertEquals(await bench.readNotes(), ["a", "b", "c", "b", "c"]);
});

Deno.test("the log says which step a job sleeps for, and why a step is attempted again", async () => {
  await using bench = await Bench.open();
  await using server = await worker(bench, ["--isolate", "Attempts"]);
  await bench.push("Swallows", [bench.notes]);
  await bench.push("Attempts", []);
  await server.logged("Snoozed", { reason: 'Asleep: step "nap" sleeps' });
  await server.logged("Snoozed", { reason: 'Asleep: step "one" failed, attempt 1 of 2: TypeError: not yet' });
});

Deno.test("cancelling a sleeping job ends it at once, with its steps", async () => {
  await using bench = await Bench.open();
  await using _worker = await worker(bench);
  const jid = await bench.push("Every", [bench.notes]);
  await bench.until(async () => (await bench.store.steps.read(jid)).length === 2, "it waits for the signal");
  await bench.until(async () => (await bench.store.admin.stats()).scheduled === 1, "it has gone to sleep");
  await cancelJob(bench.store, jid, Date.now());
  assertEquals((await bench.client.result(jid))?.state, "cancelled");
  assertEquals(await bench.store.steps.read(jid), []);
  assertMatch(JSON.stringify(await bench.client.signal(`every:${jid}`)), /^\{\}$/);
});
