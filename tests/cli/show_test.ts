/** `jobs show`: what is told of one job. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Bench, benchOn } from "../support/bench.ts";
import { jobs } from "../support/process.ts";

benchOn((folder) => `sqlite:${folder}/jobs.db`);

Deno.test("the stack of a failure is shown line by line, and is a list in JSON", async () => {
  await using bench = await Bench.open();
  const handlers = `${bench.folder}/fail.js`;
  await Deno.writeTextFile(
    handlers,
    "export function FailDeep() { where(); }\nfunction where() { throw new TypeError('no'); }\n",
  );
  await using server = await bench.server([handlers]);
  const jid = await bench.push("FailDeep", [], { backtrace: true });
  await server.logged("Failed", { jid });
  await bench.until(async () => (await bench.store.stats()).retry === 1);
  const env = { JOBS_STORE: bench.url };
  const { stdout } = await jobs(["show", jid], { env });
  assertMatch(stdout, /\nstack +.*where.*fail\.js:2:\d+\)?\n +.*FailDeep/);
  const { backtrace } = JSON.parse((await jobs(["show", jid, "--json"], { env })).stdout);
  assertMatch(backtrace[0], /where/);
  const { entries } = JSON.parse((await jobs(["list", "retry", "--json"], { env })).stdout);
  assertEquals(entries[0].backtrace, backtrace);
  const dropped = await bench.push("FailDeep", [], { retry: 0 });
  await server.logged("Failed for good, moved to dead", { jid: dropped });
  assert((await jobs(["show", dropped], { env })).stdout.includes("TypeError: no"));
});

Deno.test("cancelling what has ended says how it ended", async () => {
  await using bench = await Bench.open();
  const body = JSON.stringify({
    jid: "ended1",
    class: "A",
    queue: "default",
    state: "done",
    ended_at: Date.now() - 300_000,
  });
  await bench.store.keepResult({ jid: "ended1", ttlMs: 60_000, body });
  const { code, stderr } = await jobs(["cancel", "ended1"], { env: { JOBS_STORE: bench.url } });
  assertEquals([code, stderr], [1, 'jobs: "ended1" has ended: done 5m ago\n']);
});
