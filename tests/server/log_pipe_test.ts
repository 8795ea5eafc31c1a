/** A worker whose log is a pipe that is read late. */
import { assertEquals } from "@std/assert";
import { TextLineStream } from "@std/streams/text-line-stream";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";

/** Their lines are several times as large as a pipe. */
const JOBS = 3_000;

Deno.test("loses neither a line nor a job when a pipe is full and read later", async () => {
  await using bench = await Bench.open();
  await bench.client.pushBulk({ class: "Noop", args: Array.from({ length: JOBS }, () => []) });
  const [program, ...first] = jobsCommand();
  const worker = new Deno.Command(program, {
    args: [...first, "run", bench.handlers, "--store", bench.url, "--log-level", "info"],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  try {
    await bench.until(async () => (await bench.store.admin.stats()).processed > 0, "jobs run while nothing reads");
    const done: string[] = [];
    const lines = worker.stderr.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of lines) {
      if (!line.startsWith("{")) continue;
      const { msg, jid } = JSON.parse(line);
      if (msg === "Done" && done.push(jid) === JOBS) worker.kill("SIGTERM");
    }
    assertEquals(new Set(done).size, JOBS);
    assertEquals(done.length, JOBS);
    const { processed, enqueued, running } = await bench.store.admin.stats();
    assertEquals([processed, enqueued, running], [JOBS, 0, 0]);
  } finally {
    try {
      worker.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await worker.status;
  }
});
