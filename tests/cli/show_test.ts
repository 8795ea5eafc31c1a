/** `jobs show`. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { Client } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";
import { Bench } from "../support/bench.ts";
import { cancelJob } from "../../src/store/ops/cancel.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { register, takeUpTo, workerRecord } from "../store_contract/jobs.ts";
import { keepRecord } from "../support/records.ts";

Deno.test("shows the stack trace of a failure line by line, and as a list in JSON", async () => {
  await using bench = await Bench.open();
  const handlers = `${bench.folder}/fail.js`;
  await Deno.writeTextFile(
    handlers,
    "export function FailDeep() { where(); }\nfunction where() { throw new TypeError('no'); }\n",
  );
  await using server = await bench.server([handlers]);
  const jid = await bench.push("FailDeep", [], { backtrace: true });
  await server.logged("Failed", { jid });
  await bench.until(async () => (await bench.store.admin.stats()).retry === 1);
  const env = { JOBS_STORE: bench.url };
  const { stdout } = await jobs(["show", jid], { env });
  assertMatch(stdout, /\nstack +.*where.*fail\.js:2:\d+\)?\n +.*FailDeep/);
  const { error: { backtrace } } = JSON.parse((await jobs(["show", jid, "--json"], { env })).stdout);
  assertMatch(backtrace[0], /where/);
  const { jobs: listed } = JSON.parse((await jobs(["list", "retrying", "--json"], { env })).stdout);
  assertEquals(listed[0].error.backtrace, backtrace);
  const dropped = await bench.push("FailDeep", [], { retry: 0 });
  await server.logged("Failed for good, moved to dead", { jid: dropped });
  assert((await jobs(["show", dropped], { env })).stdout.includes("TypeError: no"));
});

Deno.test("shows all failures after a retry by hand, and how many of them count against the retries", async () => {
  await using bench = await Bench.open();
  const handlers = `${bench.folder}/fail.js`;
  await Deno.writeTextFile(
    handlers,
    "export function FailAgain({ attempt }) { throw new Error(`attempt ${attempt}`); }\n",
  );
  await using server = await bench.server([handlers]);
  const env = { JOBS_STORE: bench.url };
  const jid = await bench.push("FailAgain", [], { retry: 0 });
  for (const attempt of [1, 2, 3]) {
    if (attempt > 1) assertEquals((await jobs(["retry", jid], { env })).code, 0);
    await server.logged("Failed for good, moved to dead", { jid, ...(attempt > 1 && { attempt }) });
    await bench.until(async () => (await bench.store.admin.stats()).dead === 1);
  }
  const { stdout } = await jobs(["show", jid], { env });
  assertMatch(stdout, /^failures +3, of which 1 count against the retries$/m);
  assertMatch(stdout, /^attempts +1\. .*: attempt 1\n +2\. .*: attempt 2\n +3\. .*: attempt 3$/m);
});

Deno.test("shows the worker, the stack and the log of a dead job, and the worker of a retrying one, with secrets masked", async () => {
  await using bench = await Bench.open();
  const handlers = `${bench.folder}/fail.js`;
  await Deno.writeTextFile(
    handlers,
    `export function Charge(ctx) { ctx.log.info("calling with Bearer abcdef0123456789"); decline(); }
     function decline() { throw new Error("declined by https://ann:hunter2@bank.example"); }`,
  );
  await using server = await bench.server([handlers], { JOBS_WEB_MASK: "iban" });
  const args = [{ password: "hunter2", iban: "DE00", amount: 5 }];
  const dead = await bench.push("Charge", args, { retry: 0 });
  const retrying = await bench.push("Charge", args);
  await server.logged("Failed for good, moved to dead", { jid: dead });
  await server.logged("Failed", { jid: retrying });
  await bench.until(async () => {
    const { retry, dead } = await bench.store.admin.stats();
    return retry === 1 && dead === 1;
  });
  const { id } = (await bench.store.workers.list())[0]!;
  const show = async (...args: string[]) => {
    const { code, stdout, stderr } = await jobs(["show", ...args], {
      env: { JOBS_STORE: bench.url, JOBS_WEB_MASK: "iban" },
    });
    assertEquals([code, stderr], [0, ""]);
    assertEquals(/hunter2|DE00|abcdef0123456789/.test(stdout), false, stdout);
    assertMatch(stdout, /"amount": ?5/);
    return stdout;
  };
  const text = await show(dead);
  assertMatch(text, new RegExp(`\nworker +${id}\n`));
  assertMatch(text, /\nstack +.*decline.*\n +.*Charge/);
  assertMatch(text, /\nlog +.*calling with Bearer •+/);
  const json = JSON.parse(await show(dead, "--json"));
  assertEquals([json.worker, json.log.length], [id, 1]);
  assertMatch(json.error.backtrace[0], /decline/);
  assertMatch(await show(retrying), new RegExp(`\nworker +${id}\n`));
  assertEquals(JSON.parse(await show(retrying, "--json")).worker, id);
  await bench.store.jobs.edit([(await bench.store.jobs.find([dead]))[0]!.ref], "delete");
  assertMatch(await show(dead), /\nstate +dead /);
});

Deno.test("shows how old the report of a running job is, unless its worker reported just now", async () => {
  await using bench = await Bench.open();
  const jid = await bench.push("Slow", []);
  const before = { ...systemClock, now: () => Date.now() - 8_000 };
  const work = [{ task: "processor-1", queue: "default", payload: `{"jid":"${jid}"}`, since: 1, lastLine: "row 7" }];
  const record = workerRecord("host:1:aaaaaaaaaaaa", { busy: 1, work });
  {
    await using store = await openStore(bench.url, { clock: before });
    await store.workers.heartbeat(record, 600_000);
  }
  await takeUpTo(bench.store, record.id, 1);
  const reported = async () => {
    const { stdout } = await jobs(["show", jid], { env: { JOBS_STORE: bench.url } });
    return /^last line row 7$/m.test(stdout) && /^reported +(.*)$/m.exec(stdout)?.[1];
  };
  assertMatch(String(await reported()), /^\d+(\.\d)?s ago, by the last heartbeat of its worker$/);
  await using ahead = await openStore(bench.url, { clock: { ...systemClock, now: () => Date.now() + 60_000 } });
  await ahead.workers.heartbeat(record, 600_000);
  assertEquals(await reported(), undefined);
});

Deno.test("shows a large job whole", async () => {
  await using bench = await Bench.open();
  const jid = await bench.push("A", ["x".repeat(30_000), Array.from({ length: 25_000 }, (_, i) => i)]);
  const { stdout } = await jobs(["show", jid, "--json"], { env: { JOBS_STORE: bench.url } });
  const [text, list] = JSON.parse(stdout).payload.args;
  assertEquals([text.length, list.length], [30_000, 25_000]);
});

Deno.test("lists and shows jobs of other clients, whatever their fields contain", async () => {
  await using bench = await Bench.open();
  const deep = 20_000;
  const payloads = [
    { display_class: '{"toString":1}', tags: '[{"toString":1},"mail"]' },
    { display_class: '"Shown"', tags: '"one text"', created_at: "1e300", args: "[9007199254740993]" },
    { error_class: '{"toString":1}', error_message: '{"toString":1}', failed_at: "1e17", queue: '{"toString":1}' },
    { args: "[".repeat(deep) + "]".repeat(deep) },
  ].map(({ args = "[]", ...fields }, i) => {
    const more = Object.entries(fields).map(([name, json]) => `,"${name}":${json}`).join("");
    return { jid: `odd${i}`, queue: "default", payload: `{"class":"A","jid":"odd${i}","args":${args}${more}}` };
  });
  await bench.store.jobs.enqueue(payloads);
  await bench.store.jobs.enqueue([{ ...payloads[0]!, jid: "odd0", at: 9e15 }]);
  const env = { JOBS_STORE: bench.url };
  for (const { jid } of payloads.slice(0, 3)) {
    for (const args of [["show", jid], ["show", jid, "--json"], ["find", jid], ["find", jid, "--json"]]) {
      const { code, stderr } = await jobs(args, { env });
      assertEquals([args, code, stderr], [args, 0, ""]);
    }
  }
  for (const args of [["list", "queued", "-q", "default"], ["list", "queued", "--json"], ["list", "scheduled"]]) {
    const { code, stderr } = await jobs(args, { env });
    assertEquals([args, code, stderr], [args, 0, ""]);
  }
  assertMatch((await jobs(["show", "odd0"], { env })).stdout, /\ntags +\{"toString":1\}, mail\n/);
  const { stdout } = await jobs(["show", "odd1"], { env });
  assertMatch(stdout, /\nclass +Shown\nargs +\[9007199254740993\]\n(.*\n)+tags +one text\n/);
  assertMatch((await jobs(["show", "odd3"], { env })).stdout, /^\(unreadable\)/);
});

Deno.test("shows why a job isn't running, and prints it as a list in JSON", async () => {
  await using bench = await Bench.open();
  const { store } = bench;
  const env = { JOBS_STORE: bench.url };
  const why = async (jid: string): Promise<string[]> => {
    const { stdout } = await jobs(["show", jid], { env });
    const { why }: { why: string[] } = JSON.parse((await jobs(["show", jid, "--json"], { env })).stdout);
    const shown = /\nwhy +(.*\n(?: {10}.*\n)*)/.exec(stdout)?.[1]?.trimEnd().split(/\n +/) ?? [];
    // The two commands ran at different moments.
    const still = (lines: string[]) =>
      lines.map((line) => line.replace(/in [\dhms]+\.$/, "in a while.").replace(/, as of \S+ ago/, ""));
    assertEquals(still(shown), still(why));
    // The heartbeat of this test isn't renewed.
    return why.map((line) => line.replace(/, as of \S+ ago/, ""));
  };
  const first = await bench.push("Now", []);
  const second = await bench.push("Now", []);
  const later = await bench.push("Later", [], { in: "1h" });
  const start = "jobs run handlers.js -q default, or the program of a worker over HTTP, such as python3 worker.py";
  assertEquals(await why(first), [`No worker is online. Start one with ${start}.`]);

  const worker = await register(store);
  assertEquals(await why(first), ["Nothing blocks it: a worker fetches it in its turn."]);
  assertMatch((await why(later)).join(), /^It is due in (1h|59m.*)\.$/);

  await store.admin.configure("default", { limit: { running: 1 } });
  const [lease] = await takeUpTo(store, worker, 1);
  assertEquals(await why(first), []);
  assertEquals(await why(second), [
    'Queue "default" is at its limit: 1 of 1 running. jobs limit default --running 2 raises it.',
  ]);
  await store.admin.configure("default", { pause: true });
  assertEquals(
    (await why(second))[0],
    'Queue "default" is paused until it is resumed. jobs resume default resumes it.',
  );

  const grouped = await bench.push("Now", [], { queue: "exports", group: "acme" });
  const ahead = await bench.push("Now", [], { queue: "exports", group: "acme" });
  await store.admin.configure("exports", { eachGroup: true, limit: { running: 1 } });
  await takeUpTo(store, worker, 1, ["exports"]);
  assertMatch(
    (await why(ahead)).at(-1)!,
    /^Group "acme" is at its limit: 1 of 1 running\. jobs limit exports --each-group --running 2 raises it\.$/,
  );
  assertEquals(await why(grouped), []);

  await store.jobs.settle(worker, [{ kind: "bury", token: lease!.token, payload: lease!.payload }]);
  assertEquals(await why(first), [`It is dead: it was killed. jobs retry ${first} runs it again.`]);
});

Deno.test("shows that an ended job was rescued, unless its error says so", async () => {
  await using bench = await Bench.open();
  const rescued = async (jid: string, payload: object, more: object = {}) => {
    const ended = { jid, class: "Report", queue: "default", state: "succeeded", attempt: 1, endedAt: 1, ...more };
    const body = JSON.stringify({ ...ended, payload: { class: "Report", args: [], ...payload } });
    await keepRecord(bench.store, { jid, ttlMs: Infinity, body });
    const { stdout } = await jobs(["show", jid], { env: { JOBS_STORE: bench.url } });
    assertMatch(stdout, /^attempt +1$/m);
    return /^rescued +(.*)$/m.exec(stdout)?.[1];
  };
  assertEquals(await rescued("r1", {}), undefined);
  assertEquals(await rescued("r2", { suspected: 1 }), "once, because its worker ended");
  assertEquals(await rescued("r3", { suspected: 1, rescues: 2 }), "3 times, because its workers ended");
  const error = { class: "WorkerDied", message: "Worker died 3 times while running it" };
  assertEquals(await rescued("r4", { suspected: 1, rescues: 3 }, { state: "dead", error }), undefined);
});

Deno.test("rejects an unknown cursor in one line", async () => {
  await using bench = await Bench.open();
  await bench.push("A", []);
  for (const list of [["dead"], ["running"], ["queued", "-q", "default"], ["finished"]]) {
    const { code, stderr } = await jobs(["list", ...list, "--cursor", "x", "--store", bench.url]);
    assertEquals([code, stderr], [
      2,
      'jobs: Invalid cursor "x": expected the "next" of the previous page, or none\n',
    ]);
  }
});

Deno.test("prints how a job ended if it can no longer be cancelled", async () => {
  await using bench = await Bench.open();
  const body = JSON.stringify({
    jid: "ended1",
    class: "A",
    queue: "default",
    state: "succeeded",
    endedAt: Date.now() - 300 * 86_400_000,
  });
  await keepRecord(bench.store, { jid: "ended1", ttlMs: 60_000, body });
  const { code, stderr } = await jobs(["cancel", "ended1"], { env: { JOBS_STORE: bench.url } });
  assertEquals([code, stderr], [1, 'jobs: Job "ended1" has finished: succeeded 300d ago\n']);
});

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`shows that a job was cancelled while its handler still runs, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const handlers = `${bench.folder}/deaf.js`;
    await Deno.writeTextFile(
      handlers,
      `export async function Deaf(ctx, file) {
        ctx.log.info("Started");
        while (!await Deno.stat(file).then(() => true, () => false)) await new Promise((done) => setTimeout(done, 50));
      }`,
    );
    await using server = await bench.server([handlers]);
    const jid = await bench.push("Deaf", [`${bench.folder}/end`]);
    await server.logged("Started");
    const env = { JOBS_STORE: bench.url };
    assertEquals((await jobs(["show", jid], { env })).stdout.includes("aborting"), false);
    const cancelled = await jobs(["cancel", jid], { env });
    assertEquals([cancelled.code, cancelled.stdout], [0, "Cancelled 1 job\n"]);
    assertEquals(
      cancelled.stderr,
      `jobs: 1 running job aborted: it ends when its handler heeds its signal; jobs show ${jid}\n`,
    );
    await bench.until(async () => (await bench.store.workers.list())[0]?.work[0]?.abortReason === "Cancelled");
    assertMatch((await jobs(["show", jid], { env })).stdout, /^aborting +cancel requested; its handler hasn't ended$/m);
    assertEquals(JSON.parse((await jobs(["show", jid, "--json"], { env })).stdout).abortReason, "Cancelled");
    await Deno.writeTextFile(`${bench.folder}/end`, "");
    await server.logged("Cancelled", { jid });
  });
}

Deno.test("shows how many nodes a waiting node of a flow waits for, and the flow of a queued one", async () => {
  await using bench = await Bench.open();
  const client = new Client({ store: bench.store, onUnregistered: () => {} });
  const { id, jids } = await client.flow("nightly", {
    extract: { job: ["Extract", []] },
    load: { job: ["Load", []], after: "extract" },
  });
  const env = { JOBS_STORE: bench.url };
  const waiting = await jobs(["show", jids["load"]!], { env });
  assertMatch(
    waiting.stdout,
    new RegExp(`\nstate +waiting for the node before it\nflow +${id}, node load\nafter +extract\n`),
  );
  assertMatch((await jobs(["show", jids["extract"]!], { env })).stdout, new RegExp(`\nflow +${id}, node extract\n`));
  const shown = JSON.parse((await jobs(["show", jids["load"]!, "--json"], { env })).stdout);
  const { payload, createdAt: _, changedAt, ...rest } = shown;
  assert(Date.parse(changedAt) > 0);
  const load = { jid: jids["load"], class: "Load", state: "waiting", queue: "default", flow: id, node: "load" };
  const waits = { after: ["extract"], waitsFor: 1 };
  assertEquals(rest, { ...load, ...waits, why: ["It waits for the node before it: extract."] });
  assertEquals(payload.class, "Load");
  const [entry] = await bench.store.jobs.find([jids["extract"]!]);
  await bench.store.jobs.edit([entry!.ref], "kill");
  const why = `Node "extract" is dead: jobs retry ${jids["extract"]} runs it again.`;
  assertMatch((await jobs(["show", jids["load"]!], { env })).stdout, new RegExp(`\nwhy +${why}\n`));
  assertEquals(JSON.parse((await jobs(["show", jids["load"]!, "--json"], { env })).stdout).why[1], why);
});

Deno.test("rejects a signal whose data begins as JSON but isn't, before it reaches the job", async () => {
  await using bench = await Bench.open();
  const env = { JOBS_STORE: bench.url };
  const { code, stdout, stderr } = await jobs(["signal", "order:42", "{approved: true}"], { env });
  assertEquals([code, stdout], [2, ""]);
  assertMatch(stderr, /^jobs: Invalid DATA "\{approved: true\}": expected JSON after \{ \(.+\)\n$/);
  assertEquals((await jobs(["signal", "order:42", "yes"], { env })).code, 0);
});

Deno.test("nodes that wait in flows are listed by class, and found by text", async () => {
  await using bench = await Bench.open();
  const client = new Client({ store: bench.store, onUnregistered: () => {} });
  const { jids } = await client.flow("nightly", {
    extract: { job: ["Extract", ["ann"]] },
    load: { job: ["Load", ["bob"]], after: "extract" },
    report: { job: ["Report", ["bob"]], after: "load" },
  });
  const on = (...args: string[]) => jobs(args, { env: { JOBS_STORE: bench.url } });
  const found = async (...args: string[]) =>
    JSON.parse((await on(...args, "--json")).stdout).jobs.map(({ jid }: { jid: string }) => jid);
  assertEquals(await found("list", "waiting"), [jids["load"], jids["report"]]);
  assertEquals(await found("list", "waiting", "-n", "1"), [jids["load"]]);
  assertEquals(await found("list", "waiting", "--class", "Report"), [jids["report"]]);
  assertMatch((await on("list", "waiting")).stdout, /Load\("bob"\) +the node before it/);
  assertEquals((await on("list", "waiting", "-q", "low")).stdout, 'No waiting nodes in queue "low"\n');
  assertMatch((await on("list", "waiting", "-r")).stderr, /^jobs: --reverse doesn't apply to waiting nodes/);
  assertEquals(await found("find", "bob"), [jids["load"], jids["report"]]);
  assertEquals(await found("find", "bob", "--class", "Load"), [jids["load"]]);
  assertEquals((await on("find", "carol")).code, 1);
});

Deno.test("shows a cancelled job whose worker is gone as cancelled, not as running", async () => {
  await using bench = await Bench.open();
  const worker = await register(bench.store);
  const jid = await bench.push("Noop", []);
  await takeUpTo(bench.store, worker);
  assertEquals(await cancelJob(bench.store, jid, Date.now()), "aborted");
  await bench.store.workers.deregister(worker);
  const { stdout } = await jobs(["show", jid], { env: { JOBS_STORE: bench.url } });
  assertMatch(stdout, /^state +cancelled; the next rescue by a worker ends it$/m);
});

Deno.test("shows what a running job logged a moment ago, not at the last heartbeat", async () => {
  await using bench = await Bench.open();
  const handlers = `${bench.folder}/log.js`;
  await Deno.writeTextFile(
    handlers,
    `export async function Log(ctx) {
       ctx.log.info("well on the way");
       await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
     }`,
  );
  await using server = await bench.server([handlers], { JOBS_HEARTBEAT: "1h", JOBS_HEARTBEAT_TIMEOUT: "3h" });
  const jid = await bench.push("Log", []);
  await server.logged("well on the way");
  // A report of the last second is fresh enough.
  await bench.until(async () => {
    const { stdout } = await jobs(["show", jid, "--json"], { env: { JOBS_STORE: bench.url } });
    return JSON.parse(stdout).lastLine === "well on the way";
  }, "the log is shown");
});
