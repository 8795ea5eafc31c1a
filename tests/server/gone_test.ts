/** The file of a SQLite store is deleted or replaced under a running worker. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { job } from "../store_contract/jobs.ts";
import { Child } from "../support/child.ts";
import { until } from "../support/eventually.ts";
import { jobs, JobsProcess, temporaryFolder } from "../support/process.ts";
import { StoreError } from "../../src/store/port/errors.ts";

const path = (bench: Bench) => bench.url.slice("sqlite:".length);

/** Waits for a heartbeat of the worker's thread, which then has the file open, too. */
async function beaten(bench: Bench): Promise<void> {
  const [registered] = await bench.store.workers.list();
  await bench.until(
    async () => (await bench.store.workers.list())[0]!.heartbeatAt > registered!.heartbeatAt,
    "it beats on",
  );
}

async function takeAway(bench: Bench, ends = ["", "-wal", "-shm"]): Promise<void> {
  for (const end of ends) await Deno.remove(path(bench) + end);
}

Deno.test("a worker whose store file was deleted logs one line and ends with an error", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server(["-t", "0"]);
  const running = await bench.push("Wait", [bench.notes]);
  await bench.noted(`start ${running}`);
  await beaten(bench);
  await takeAway(bench);
  assertEquals((await server.status()).code, 1);
  const errors = server.lines.filter(({ level }) => level === "error");
  assertEquals(errors.length, 1, JSON.stringify(errors));
  assertMatch(
    errors[0]!.msg,
    /^The file of store ".*jobs.db" was deleted or moved away while it was in use, and nothing/,
  );
});

Deno.test("a worker whose store file was replaced ends, and the next worker performs the jobs of the new file", async () => {
  await using bench = await Bench.open();
  await using quiet = await bench.server(["-t", "0"]);
  quiet.kill("SIGTSTP");
  await quiet.logged("Quiet: taking no more jobs");
  await beaten(bench);
  const pushed = await jobs(["push", "Note", bench.notes, "in the new file", "--store", `sqlite:${path(bench)}.new`]);
  assertEquals(pushed.code, 0, pushed.stderr);
  // The file exists at every moment, because the worker may check at any time.
  await Deno.rename(`${path(bench)}.new`, path(bench));
  await takeAway(bench, ["-wal", "-shm"]);
  assertEquals((await quiet.status()).code, 1, "also one that takes no jobs");
  assertMatch(quiet.lines.find(({ level }) => level === "error")!.msg, /was replaced by another while it was in use/);
  await using _next = await bench.server();
  await bench.noted("in the new file");
});

Deno.test("a push into a deleted store file is rejected, not lost", async () => {
  await using bench = await Bench.open();
  await bench.push("Note", [bench.notes]);
  await takeAway(bench);
  let refused: unknown;
  await bench.until(async () => {
    refused = await bench.store.jobs.enqueue([job(1)]).then(() => undefined, (error) => error);
    return refused !== undefined;
  }, "the push is refused");
  assertEquals(refused instanceof StoreError && refused.code, "gone");
});

Deno.test("a program whose worker stopped with an error continues, and finished() rejects with that error", async () => {
  await using bench = await Bench.open();
  await using program = new Child("./embedding_child.ts", [bench.url]);
  assertEquals(await program.line(), "started");
  await beaten(bench);
  await takeAway(bench);
  assertEquals(await program.line(), "failed: gone");
  assert(await program.ended());
});

/** A worker of another queue that alone has the file open, and one job that is only in the log. */
async function openAlone() {
  const folder = await temporaryFolder();
  const store = `sqlite:${folder.path}/jobs.db`;
  const notes = `${folder.path}/notes`;
  const handlers = new URL("../support/handlers.js", import.meta.url).pathname;
  const server = new JobsProcess({ store, args: [handlers, "-q", "others"] });
  await server.logged("Ready");
  const push = async (text: string) => {
    const { code, stderr } = await jobs(["push", "Note", notes, text, "--store", store]);
    assertEquals(code, 0, stderr);
  };
  const heartbeatAt = async () =>
    JSON.parse((await jobs(["workers", "--json", "--store", store])).stdout).workers[0].heartbeatAt;
  const first = await heartbeatAt();
  await until(async () => await heartbeatAt() > first, "a beat of the thread, which then has the file open, too");
  await push("before");
  return {
    push,
    server,
    takeAway: (ends: readonly string[]) => Promise.all(ends.map((end) => Deno.remove(`${folder.path}/jobs.db${end}`))),
    /** Asserts that a new worker performs this many jobs. */
    async performed(count: number) {
      await using next = new JobsProcess({ store, args: [handlers] });
      await next.logged("Done", {}, count);
      return (await Deno.readTextFile(notes)).trim().split("\n");
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

for (const ends of [["-wal", "-shm"], ["-wal"], ["-shm"]]) {
  Deno.test(`a server whose ${ends.join(" and ")} was deleted ends, and the content of the log is kept`, async () => {
    await using alone = await openAlone();
    await alone.takeAway(ends);
    assertEquals((await alone.server.status()).code, 1);
    const errors = alone.server.lines.filter(({ level }) => level === "error");
    assertEquals(errors.length, 1, JSON.stringify(errors));
    assertMatch(
      errors[0]!.msg,
      /^The file -(wal|shm) of store ".*jobs.db" was deleted or moved away while it was in use/,
    );
    assertEquals(await alone.performed(1), ["before"]);
  });
}

Deno.test("a push after the deletion of a worker's log survives the end of that worker", async () => {
  await using alone = await openAlone();
  // The worker does not check its files in the meantime.
  alone.server.kill("SIGSTOP");
  await alone.takeAway(["-wal", "-shm"]);
  await alone.push("after");
  alone.server.kill("SIGCONT");
  assertEquals((await alone.server.status()).code, 1);
  assertMatch(alone.server.lines.find(({ level }) => level === "error")!.msg, /was replaced by another/);
  // The content of the deleted log is lost.
  assertEquals(await alone.performed(1), ["after"]);
});
