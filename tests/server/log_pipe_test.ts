/** A worker whose log is a pipe that is read late. */
import { assertEquals } from "@std/assert";
import { TextLineStream } from "@std/streams/text-line-stream";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import { requireTool } from "../support/tools.ts";

/** Their lines are several times as large as a pipe. */
const JOBS = 3_000;

/** Another process that has the pipe may have set this. */
const NOT_BLOCKING = "import os, sys; os.set_blocking(2, False); os.execvp(sys.argv[1], sys.argv[1:])";

/** Starts a worker whose log is a pipe that nothing reads yet. */
function startWorker(bench: Bench, args: readonly string[], isBlocking = true): Deno.ChildProcess {
  const [program, ...first] = [...isBlocking ? [] : ["python3", "-c", NOT_BLOCKING], ...jobsCommand()];
  return new Deno.Command(program!, {
    args: [...first, "run", "--store", bench.url, "--log-level", "info", ...args],
    env: { JOBS_HEARTBEAT: "200ms" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
}

async function kill(worker: Deno.ChildProcess): Promise<void> {
  try {
    worker.kill("SIGKILL");
  } catch {
    // It has ended.
  }
  await worker.status;
}

for (const isBlocking of [true, false]) {
  Deno.test(`loses neither a line nor a job when a ${isBlocking ? "" : "non-blocking "}pipe is full and read later`, async () => {
    if (!isBlocking) requireTool("python3");
    await using bench = await Bench.open();
    await bench.client.pushBulk({ class: "Noop", args: Array.from({ length: JOBS }, () => []) });
    const worker = startWorker(bench, [bench.handlers], isBlocking);
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
      await kill(worker);
    }
  });
}

Deno.test("while a pipe is full and not read, a worker sends heartbeats after a dump, and ends at the deadline of a stop", async () => {
  await using bench = await Bench.open();
  const handlers = `${bench.folder}/flood.js`;
  await Deno.writeTextFile(
    handlers,
    `export async function Flood(ctx) {
      for (let line = 0; line < 1_000; line++) ctx.log.info("x".repeat(1_000));
      await new Promise(() => {});
    }`,
  );
  const jid = await bench.push("Flood", []);
  const worker = startWorker(bench, [handlers, "-t", "100ms"]);
  try {
    const record = async () => (await bench.store.workers.list())[0];
    await bench.until(async () => (await record())?.blocked !== undefined, "the event loop is blocked");
    // Two lines at least, by the thread that sends the heartbeats.
    worker.kill("SIGTTIN");
    for (let beats = 0; beats < 5; beats++) {
      const last = (await record())!.heartbeatAt;
      await bench.until(async () => (await record())!.heartbeatAt > last, "another heartbeat");
    }
    let code: number | undefined;
    void worker.status.then((status) => code = status.code);
    worker.kill("SIGTERM");
    await bench.until(() => code !== undefined, "the worker ends");
    assertEquals(code, 0);
    const { entries } = await bench.store.admin.page({ in: "queue", queue: "default" });
    assertEquals(entries.map(({ payload }) => JSON.parse(payload).jid), [jid]);
  } finally {
    await worker.stderr.cancel();
    await kill(worker);
  }
});
