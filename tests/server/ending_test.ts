/** Workers that end by themselves, and conditions that keep a second worker from starting. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { PidfileError, writePidfile } from "../../src/server/host/pidfile.ts";
import { Bench } from "../support/bench.ts";
import { jobs, temporaryFolder } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import type { WorkerInfo } from "../../src/store/port/workers.ts";

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`--burst performs all jobs and the jobs that these push, and ends, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const module = `${bench.folder}/module.js`;
    await Deno.writeTextFile(
      module,
      `export async function Chain(ctx, left) {
         await new Promise((resolve) => setTimeout(resolve, 30));
         if (left > 0) await ctx.client.push("Chain", [left - 1]);
       }`,
    );
    await bench.push("Chain", [10]);
    const later = await bench.push("Chain", [0], { in: "1h" });
    await using server = await bench.server([module, "--burst"]);
    assertEquals((await server.status()).code, 0);
    assertEquals((await bench.store.admin.stats()).processed, 11);
    assertEquals((await bench.store.jobs.find([later])).map((entry) => entry.place.in), ["scheduled"]);
    await server.logged("Stopping", { by: "burst" });
    assertEquals(await bench.store.workers.list(), []);
  });
}

Deno.test("--burst on empty queues ends at once", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["--burst"]);
  assertEquals((await server.status()).code, 0);
});

Deno.test("--max-jobs performs this many jobs, takes no more, and ends", async () => {
  await using bench = await Bench.open();
  await bench.client.pushBulk({ class: "Noop", args: Array.from({ length: 500 }, () => []) });
  await using server = await bench.server(["--max-jobs", "123"]);
  assertEquals((await server.status()).code, 0);
  const { processed, enqueued, running } = await bench.store.admin.stats();
  assertEquals({ processed, enqueued, running }, { processed: 123, enqueued: 377, running: 0 });
});

Deno.test("--max-idle ends after this long without a job", async () => {
  await using bench = await Bench.open();
  const jid = await bench.push("Sleep", [bench.notes, 800]);
  await using server = await bench.server(["--max-idle", "400ms"]);
  assertEquals((await server.status()).code, 0);
  await bench.noted(`end ${jid}`);
  await server.logged("Stopping", { by: "max-idle" });
});

const TAKEN = `jobs: A live worker has the name "mail"; choose another with --name, or stop that one (jobs stop mail)`;
const WAITING = "Waiting until the worker that has the name is offline";

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`rejects a name while a live worker has it, and waits for it after kill -9, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    // Long enough for a worker to start on a busy machine before the first one's heartbeat expires.
    const environment = { JOBS_HEARTBEAT_TIMEOUT: "8s" };
    await using first = await bench.server(["--name", "mail"], environment);
    const [{ id, tag }] = await bench.store.workers.list() as [WorkerInfo];
    assertEquals(tag, "mail");
    const second = await jobs(["run", bench.handlers, "--name", "mail", "--store", bench.url], {
      env: { JOBS_LOG_LEVEL: "error" },
    });
    assertEquals([second.code, second.stderr], [1, `${TAKEN}\n`]);
    assertEquals((await bench.store.workers.list()).length, 1);
    first.kill("SIGKILL");
    await first.status();
    await using third = await bench.server(["--name", "mail"], environment);
    const waits = third.lines.filter(({ msg }) => msg === WAITING);
    assertEquals(waits.map(({ wanted, holder }) => ({ wanted, holder })), [{ wanted: "mail", holder: id }]);
  });
}

Deno.test("a worker that was frozen keeps its name: its next heartbeat ends the start that waits for it", async () => {
  // On SQLite it could freeze within a transaction, which would block all others.
  await using redis = await startRedis();
  await using bench = await Bench.open(redis.url);
  await using first = await bench.server(["--name", "mail"]);
  first.kill("SIGSTOP");
  await using second = await bench.server(["--name", "mail"], {}, false);
  await second.logged(WAITING);
  first.kill("SIGCONT");
  await second.logged(TAKEN);
  assertEquals((await second.status()).code, 1);
  assertEquals((await bench.store.workers.list()).length, 1);
});

Deno.test("a stop ends the wait for a name at once", async () => {
  await using bench = await Bench.open();
  await using first = await bench.server(["--name", "mail"]);
  first.kill("SIGKILL");
  await using second = await bench.server(["--name", "mail"], {}, false);
  await second.logged(WAITING);
  second.kill("SIGTERM");
  assertEquals((await second.status()).code, 0);
});

Deno.test("--pid-file has the process ID, is removed at the end, and is rejected while that process is alive", async () => {
  await using bench = await Bench.open();
  const path = `${bench.folder}/pid`;
  await using first = await bench.server(["--pid-file", path]);
  assertEquals(await Deno.readTextFile(path), `${first.pid}\n`);
  const second = await jobs(["run", bench.handlers, "--pid-file", path, "--store", bench.url]);
  assertEquals(second.code, 1);
  assertMatch(second.stderr, /^jobs: Pidfile ".*" names process \d+, which is alive; stop that one first\n$/);
  first.kill("SIGKILL");
  await first.status();
  await using third = await bench.server(["--pid-file", path]);
  assertEquals(await Deno.readTextFile(path), `${third.pid}\n`);
  third.kill("SIGTERM");
  await third.status();
  assert(!await Deno.stat(path).then(() => true, () => false));
});

Deno.test("a pidfile belongs to the process that holds its lock: no other process with its number, and no empty file, keeps it", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/pid`;
  // A living process of another program; an empty file; this process's number of an earlier container; a longer number.
  for (const text of [`${Deno.ppid}\n`, "", `${Deno.pid}\n`, "12345678901234567890\n"]) {
    await Deno.writeTextFile(path, text);
    await using _pidfile = await writePidfile(path);
    assertEquals(await Deno.readTextFile(path), `${Deno.pid}\n`);
    await assertRejects(() => writePidfile(path), PidfileError, `names process ${Deno.pid}, which is alive`);
  }
  assert(!await Deno.stat(path).then(() => true, () => false));
});

Deno.test("a pidfile with other content, or one that cannot be written, is an error in one clear line", async () => {
  await using bench = await Bench.open();
  const path = `${bench.folder}/notes.txt`;
  await Deno.writeTextFile(path, "precious");
  const other = await jobs(["run", bench.handlers, "--pid-file", path, "--store", bench.url]);
  assertEquals([other.code, await Deno.readTextFile(path)], [1, "precious"]);
  assertMatch(other.stderr, /^jobs: Pidfile ".*" holds something else than a process number; name another file\n$/);
  const absent = await jobs(["run", bench.handlers, "--pid-file", `${bench.folder}/no/pid`, "--store", bench.url]);
  assertEquals(absent.code, 1);
  assertMatch(absent.stderr, /^jobs: Pidfile ".*" cannot be written: .*\n$/);
});

Deno.test("--burst names the jobs that it leaves in paused queues, and exits with 3", async () => {
  await using bench = await Bench.open();
  await bench.push("Noop", []);
  await bench.push("Noop", [], { queue: "mail" });
  await bench.push("Noop", [], { queue: "other" });
  for (const queue of ["mail", "other"]) await bench.store.admin.configure(queue, { pause: true });
  await using server = await bench.server(["--burst", "-q", "default", "-q", "mail"], {}, false);
  assertEquals((await server.status()).code, 3);
  await server.logged("Jobs are left in paused queues; jobs resume ends a pause", { queues: "mail (1)" });
  await using several = await bench.server(["--burst", "-q", "mail", "--processes", "2"], {}, false);
  assertEquals((await several.status()).code, 3);
  assertEquals(several.lines.filter(({ msg }) => msg.includes("starting another")), []);
  await bench.store.admin.configure("mail", { pause: false });
  await using again = await bench.server(["--burst", "-q", "default", "-q", "mail"], {}, false);
  assertEquals((await again.status()).code, 0);
});
