/** Timeouts, expiry and cancelling, in every state of a job. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

const HORSES = new URL("../support/horse_handlers.js", import.meta.url).pathname;

async function dead(bench: Bench, jid: string): Promise<Record<string, unknown>> {
  await bench.until(async () => (await bench.store.jobs.find([jid]))[0]?.place.in === "dead", `${jid} is dead`);
  return JSON.parse((await bench.store.jobs.find([jid]))[0]!.payload);
}

async function gone(bench: Bench, jid: string): Promise<void> {
  await bench.until(async () => (await bench.store.jobs.find([jid])).length === 0, `${jid} is gone`);
}

Deno.test("the signal of an inline handler aborts at the timeout of the push, and the job fails with it", async () => {
  await using bench = await Bench.open();
  await using _server = await bench.server();
  const jid = await bench.push("Wait", [bench.notes], { timeout: "200ms", retry: 0 });
  const payload = await dead(bench, jid);
  assertEquals([payload.error_class, payload.error_message], ["Timeout", "Ran for longer than its timeout of 200ms"]);
});

Deno.test("a handler that ignores its timeout is logged and shown, keeps its lease, and fails when it ends", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server([], { JOBS_KILL_AFTER: "100ms" });
  const jid = await bench.push("Ignore", [bench.notes], { timeout: "100ms", retry: 0 });
  await server.logged("Handler ignores its signal and keeps running: only isolate: true can end it", { jid });
  assertEquals((await bench.store.jobs.find([jid])).map((entry) => entry.place.in), ["running"]);
  const dump = await jobs(["dump", "--all", "--store", bench.url]);
  assertMatch(dump.stdout, new RegExp(`performing .* Ignore ${jid} .* aborted Timeout`));
  await bench.go();
  assertEquals((await dead(bench, jid)).error_class, "Timeout");
  await bench.noted(`end ${jid}`);
});

Deno.test("the timeout of a class applies if the push has none, and an invalid one fails the start", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/module.js`;
  await Deno.writeTextFile(
    module,
    `export async function Slow(ctx) { await new Promise((_, no) => ctx.signal.addEventListener("abort", () => no(1))); }
     Slow.options = { timeout: "150ms", retry: 0 };`,
  );
  await using _server = await bench.server([module]);
  assertEquals((await dead(bench, await bench.push("Slow", []))).error_class, "Timeout");
  await Deno.writeTextFile(module, `export function Slow() {}; Slow.options = { timeout: "soon" };`);
  const { code, stderr } = await jobs(["run", module, "--store", bench.url]);
  const problem = 'timeout is "soon"; expected seconds, or a duration such as 30s, 5m, 2h or 1d';
  assertEquals([code, stderr], [1, `jobs: Options of class "Slow" in ${module}: ${problem}\n`]);
});

Deno.test("a job that has not started before it expires is dropped and counted", async () => {
  await using bench = await Bench.open();
  const late = await jobs(["push", "Note", bench.notes, "late", "--expires-in", "1ms", "--store", bench.url]);
  await bench.push("Note", [bench.notes, "in time"], { expires_in: "1h" });
  await using server = await bench.server();
  await server.logged("Expired", { jid: late.stdout.trim() });
  await bench.noted("in time");
  assertEquals(await bench.readNotes(), ["in time"]);
  await bench.until(async () => (await bench.store.admin.stats()).processed === 2);
  assertEquals((await bench.store.admin.stats()).failed, 0);
  await bench.until(async () => (await bench.store.workers.list())[0]?.totals?.Note?.expired === 1);
});

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`jobs cancel cancels a job in every state, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const cancel = (...jids: string[]) => jobs(["cancel", ...jids, "--store", bench.url]);

    const queued = await bench.push("Note", [bench.notes, "cancelled"]);
    const scheduled = await bench.push("Note", [bench.notes, "cancelled"], { in: "1h" });
    const result = await cancel(queued, scheduled);
    assertEquals([result.code, result.stdout], [0, "Cancelled 2 jobs\n"]);
    await gone(bench, queued);

    // Its first retry is due an hour later.
    const handlers = `${bench.folder}/again.js`;
    await Deno.writeTextFile(
      handlers,
      "export function FailAgain() { throw new Error('no luck'); }\nFailAgain.options = { retryIn: () => 3600 };",
    );
    await using server = await bench.server([HORSES, handlers, "-c", "4"], { JOBS_KILL_AFTER: "200ms" });
    const failing = await bench.push("FailAgain", [], { retry: 5, retry_for: 1e6 });
    await bench.until(async () => (await bench.store.jobs.find([failing]))[0]?.place.in === "retry");
    assertEquals((await cancel(failing)).stdout, "Cancelled 1 job\n");

    const inline = await bench.push("Wait", [bench.notes]);
    const spinning = await bench.push("Spin", [bench.notes]);
    await bench.noted(`start ${inline}`);
    await bench.until(async () => (await bench.readNotes()).some((line) => line.startsWith("spin ")));
    assertEquals((await cancel(inline)).stdout, "Cancelled 1 job\n");
    await gone(bench, inline);
    await cancel(spinning);
    await gone(bench, spinning);
    for (const jid of [inline, spinning]) await server.logged("Cancelled", { jid });
    assertEquals((await bench.store.admin.stats()).dead, 0);
    assertEquals((await bench.store.admin.stats()).retry, 0);

    const unknown = await cancel("unknown");
    assertEquals([unknown.code, unknown.stderr.includes(`Job "unknown" not found`)], [1, true]);
    const buried = await bench.push("Exit", [1]);
    await dead(bench, buried);
    const refused = await cancel(buried);
    assertEquals(refused.code, 1);
    assertMatch(refused.stderr, /it is dead/);
    assert(!(await bench.readNotes()).includes("cancelled"));
  });
}

Deno.test("a cancelled job that ignores its signal stays cancelled when the worker stops", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["-c", "2", "-t", "0"], { JOBS_KILL_AFTER: "1ms" });
  const [cancelled, other] = [await bench.push("Hang", [bench.notes]), await bench.push("Hang", [bench.notes])];
  for (const jid of [cancelled, other]) await bench.noted(`start ${jid}`);
  await jobs(["cancel", cancelled, "--store", bench.url]);
  await server.logged("Handler ignores its signal and keeps running: only isolate: true can end it", {
    jid: cancelled,
  });
  server.kill("SIGTERM");
  await server.logged("Returned an unfinished job", { jid: other, class: "Hang" });
  assertEquals((await server.status()).code, 0);
  assertEquals(await bench.store.jobs.find([cancelled]), []);
  assertEquals((await bench.client.result(cancelled))?.state, "cancelled");
  assertEquals((await bench.store.jobs.find([other])).map((entry) => entry.place.in), ["queue"]);
});

Deno.test("a timed-out job that ignores its signal has failed when the worker stops, and has used an attempt", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["-c", "2", "-t", "0"], { JOBS_KILL_AFTER: "1ms" });
  const [last, again] = await Promise.all(
    [0, 5].map((retry) => bench.push("Hang", [bench.notes], { timeout: 0.05, retry })),
  );
  for (const jid of [last!, again!]) {
    await server.logged("Handler ignores its signal and keeps running: only isolate: true can end it", { jid });
  }
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  const places = async (jid: string) => (await bench.store.jobs.find([jid])).map((entry) => entry.place.in);
  assertEquals([await places(last!), await places(again!)], [["dead"], ["retry"]]);
  assertEquals((await bench.store.admin.stats()).failed, 2);
});

Deno.test("a job that was taken ahead and waits for a processor is cancelled without starting", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["-c", "1"]);
  // Many short jobs let the worker take ahead. Then one blocks, and the taken jobs wait behind it.
  await bench.client.pushBulk({ class: "Noop", args: Array.from({ length: 3_000 }, () => []) });
  await bench.push("Listen", [bench.notes]);
  const { id: batch } = await bench.client.batches.open({});
  const waiting = await bench.push("Note", [bench.notes, "cancelled"], { batch });
  await bench.until(async () => (await bench.readNotes()).length === 1);
  await jobs(["cancel", waiting, "--store", bench.url]);
  await gone(bench, waiting);
  await bench.go();
  await bench.until(async () => (await bench.store.admin.stats()).running === 0);
  assertEquals((await bench.readNotes()).length, 2);
  const { pending, cancelled } = (await bench.store.batches.read({ ids: [batch] })).batches[0]!;
  assertEquals([pending, cancelled], [0, 1]);
  server.kill("SIGTERM");
  await server.status();
});
