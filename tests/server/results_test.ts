/** The records of ended jobs, on both stores. */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

const MODULE = `
export function Add(_ctx, a, b) { return { sum: a + b }; }
export function Big() { return "x".repeat(70_000); }
export function Odd() { return () => 1; }
export function AddAway(ctx, a, b) { ctx.progress(50, "percent"); ctx.log.with({ part: 1 }).info("half way", { a }); return a + b; }
AddAway.options = { isolate: true };
export function Flaky(ctx) {
  ctx.log.info("try " + ctx.attempt);
  ctx.log.warn("it will not do");
  if (ctx.attempt < 3) throw new RangeError("no luck " + ctx.attempt);
  return "at last";
}
Flaky.options = { retryIn: () => 0.01 };
export function Gone() { throw new TypeError("no way"); }
Gone.options = { retry: false };
export function Dies() { throw new RangeError("not this one"); }
export function Kept() { return 1; }
Kept.options = { result_ttl: 0 };
`;

async function withModule(bench: Bench): Promise<string> {
  const path = `${bench.folder}/results.js`;
  await Deno.writeTextFile(path, MODULE);
  return path;
}

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`results and failures are kept, and a client can wait for them, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await using _server = await bench.server([await withModule(bench)]);

    const sum = await bench.push("Add", [1, 2]);
    const ended = await bench.client.result(sum);
    assertEquals([ended?.state, ended?.result, ended?.attempt, ended?.class], ["succeeded", { sum: 3 }, 1, "Add"]);
    const shown = await jobs(["show", sum, "--store", bench.url]);
    assertMatch(shown.stdout, /^state +succeeded .*\n[\s\S]*^result +{"sum":3}$/m);

    const away = await bench.client.result(await bench.push("AddAway", [1, 2]));
    assertEquals([away?.result, away?.progress, away?.lastLine], [3, "50 percent", "half way part=1 a=1"]);

    const flaky = await bench.push("Flaky", []);
    assertEquals((await bench.client.result(flaky))?.log, ["try 3", "WARN it will not do"]);
    const tries = (await jobs(["show", flaky, "--store", bench.url])).stdout;
    assertMatch(
      tries,
      /^attempts +1\. \S+Z after \d+ms RangeError: no luck 1\n +2\. \S+Z after \d+ms RangeError: no luck 2$/m,
    );
    assertMatch(tries, /^log +try 3\n +WARN it will not do$/m);

    const gone = await bench.client.result(await bench.push("Gone", []));
    assertEquals([gone?.state, gone?.error?.class, gone?.error?.message], ["failed", "TypeError", "no way"]);
    assertMatch(gone!.error!.stack![0]!, /Gone/);
    const dead = await bench.client.result(await bench.push("Dies", [], { retry: 0 }));
    assertEquals([dead?.state, dead?.error?.class], ["dead", "RangeError"]);

    const listed = await jobs(["list", "finished", "--json", "--store", bench.url]);
    assertEquals(JSON.parse(listed.stdout).jobs.map((one: { class: string }) => one.class), [
      "Dies",
      "Gone",
      "Flaky",
      "AddAway",
      "Add",
    ]);
    const found = await jobs(["list", "finished", "--error", "TYPEERROR", "--json", "--store", bench.url]);
    assertEquals(JSON.parse(found.stdout).jobs.length, 1);

    const waited = await jobs(["push", "Add", "20", "22", "--wait", "--store", bench.url]);
    assertEquals([waited.code, waited.stdout], [0, '{"sum":42}\n']);
    const failed = await jobs(["push", "Gone", "--wait", "--retry", "false", "--store", bench.url]);
    assertEquals([failed.code, failed.stdout, failed.stderr], [1, "", "jobs: failed: TypeError: no way\n"]);
    const nothing = await jobs(["push", "Noop", "--wait", "--store", bench.url]);
    assertEquals([nothing.code, nothing.stdout], [0, ""]);
    const usual = await bench.push("Noop", []);
    assertEquals((await bench.client.result(usual))?.state, "succeeded");
    assertMatch((await jobs(["show", usual, "--store", bench.url])).stdout, /^state +succeeded /m);
  });
}

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`jobs show has the position of a queued job, and the log of a running one, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const show = async (jid: string) => JSON.parse((await jobs(["show", jid, "--json", "--store", bench.url])).stdout);
    const running = await bench.push("Wait", [bench.notes]);
    const second = await bench.push("Noop", [], { queue: "default" });
    assertEquals([(await show(running)).position, (await show(second)).position], [1, 2]);
    assertMatch((await jobs(["show", second, "--store", bench.url])).stdout, /^position +2 in its queue$/m);

    await using _server = await bench.server();
    await bench.noted(`start ${running}`);
    await bench.until(async () => (await bench.store.workers.list())[0]?.work[0]?.log !== undefined);
    const { log, position } = await show(running);
    assertEquals([log, position], [["Waiting for the end"], undefined]);
    await jobs(["cancel", running, "--store", bench.url]);
    assertEquals((await bench.client.result(running))?.log, ["Waiting for the end"]);
  });
}

Deno.test("cancelled and expired jobs have records", async () => {
  await using bench = await Bench.open();
  const removed = await bench.push("Noop", [], { in: "1h" });
  await jobs(["cancel", removed, "--store", bench.url]);
  assertEquals((await bench.client.result(removed))?.state, "cancelled");
  const expired = await bench.push("Noop", [], { expires_in: "1ms" });
  await using _server = await bench.server();
  assertEquals((await bench.client.result(expired))?.state, "expired");
  const running = await bench.push("Wait", [bench.notes]);
  await bench.noted(`start ${running}`);
  await bench.until(async () => {
    return (await bench.store.workers.list())[0]?.work[0]?.lastLine === "Waiting for the end";
  });
  const shown = await jobs(["show", running, "--store", bench.url]);
  assertMatch(shown.stdout, /progress +40 percent\nlast line +Waiting for the end/);
  await jobs(["cancel", running, "--store", bench.url]);
  const cancelled = await bench.client.result(running);
  assertEquals([cancelled?.state, cancelled?.error, cancelled?.progress], ["cancelled", undefined, "40 percent"]);
  assertMatch((await jobs(["show", running, "--store", bench.url])).stdout, /state +cancelled/);
});

Deno.test("a result that is too large or not JSON is dropped with a warning, and the job succeeds", async () => {
  await using bench = await Bench.open();
  await using _server = await bench.server([await withModule(bench)]);
  const big = await bench.client.result(await bench.push("Big", []));
  assertEquals([big?.state, big?.result, big?.resultDropped], [
    "succeeded",
    undefined,
    "70002 characters; at most 65536 are kept",
  ]);
  const odd = await bench.client.result(await bench.push("Odd", []));
  assertEquals([odd?.state, odd?.resultDropped], ["succeeded", "a function isn't JSON"]);
});

Deno.test("the retention of a result comes from the push, the class or the configuration", async () => {
  await using bench = await Bench.open();
  await using _server = await bench.server([await withModule(bench), "-c", "1"]);
  const kept = await bench.push("Noop", [], { result_ttl: -1 });
  const brief = await bench.push("Add", [1, 1], { result_ttl: 0 });
  const classSays = await bench.push("Kept", []);
  const pushSays = await bench.push("Kept", [], { result_ttl: 60 });
  const nothing = await bench.push("Noop", [], { result_ttl: 0 });
  const last = await bench.push("Add", [1, 1]);
  await bench.client.result(last);
  const known = await Promise.all(
    [kept, brief, classSays, pushSays, nothing].map(async (jid) =>
      (await bench.store.results.read({ jids: [jid] })).records[0] !== undefined
    ),
  );
  assertEquals(known, [true, false, false, true, false]);
});

Deno.test("with retention.succeeded, every finished job is kept", async () => {
  await using bench = await Bench.open();
  await using _server = await bench.server([], { JOBS_RETENTION_SUCCEEDED: "1h" });
  const jid = await bench.push("Noop", []);
  assertEquals((await bench.client.result(jid))?.state, "succeeded");
});

Deno.test("the output of a program is its result", async () => {
  await using bench = await Bench.open();
  await using _server = await bench.server([], {
    JOBS_EXEC: JSON.stringify([
      { class: "Json", exec: ["echo", '{"big": 12345678901234567890}'] },
      { class: "Text", exec: ["echo", "plain"] },
    ]),
  });
  const json = await bench.client.result(await bench.push("Json", []));
  assertEquals(json?.result, { big: 12345678901234567890n });
  assertEquals((await bench.client.result(await bench.push("Text", [])))?.result, "plain");
});
