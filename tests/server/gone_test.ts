/** The file of a SQLite store is taken away from under a running server. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { job } from "../store_contract/jobs.ts";
import { Child } from "../support/child.ts";
import { jobs } from "../support/process.ts";
import { StoreError } from "../../src/store/errors.ts";

const path = (bench: Bench) => bench.url.slice("sqlite:".length);

/** Waits for a beat of the server's thread, which then has the file open, too. */
async function beaten(bench: Bench): Promise<void> {
  const [registered] = await bench.store.processes();
  await bench.until(async () => (await bench.store.processes())[0]!.beatAt > registered!.beatAt, "it beats on");
}

async function takeAway(bench: Bench): Promise<void> {
  for (const end of ["", "-wal", "-shm"]) await Deno.remove(path(bench) + end);
}

Deno.test("a server whose file was deleted says so in one line, and ends with an error", async () => {
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

Deno.test("a server whose file was replaced ends, and the next one performs what was pushed to the new file", async () => {
  await using bench = await Bench.open();
  await using quiet = await bench.server(["-t", "0"]);
  quiet.kill("SIGTSTP");
  await quiet.logged("Quiet: taking no more jobs");
  await beaten(bench);
  await takeAway(bench);
  const pushed = await jobs(["push", "Note", bench.notes, "in the new file", "--store", bench.url]);
  assertEquals(pushed.code, 0, pushed.stderr);
  assertEquals((await quiet.status()).code, 1, "also one that takes no jobs");
  assertMatch(quiet.lines.find(({ level }) => level === "error")!.msg, /was replaced by another while it was in use/);
  await using _next = await bench.server();
  await bench.noted("in the new file");
});

Deno.test("a push into a file that was deleted is refused, not lost", async () => {
  await using bench = await Bench.open();
  await bench.push("Note", [bench.notes]);
  await takeAway(bench);
  let refused: unknown;
  await bench.until(async () => {
    refused = await bench.store.enqueue([job(1)]).then(() => undefined, (error) => error);
    return refused !== undefined;
  }, "the push is refused");
  assertEquals(refused instanceof StoreError && refused.code, "gone");
});

Deno.test("a program whose server had to stop by itself lives on, though nobody waits for that; whoever asks is told", async () => {
  await using bench = await Bench.open();
  await using program = new Child("./embedding_child.ts", [bench.url]);
  assertEquals(await program.line(), "started");
  await beaten(bench);
  await takeAway(bench);
  assertEquals(await program.line(), "failed: gone");
  assert(await program.ended());
});
