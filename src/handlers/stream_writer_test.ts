import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { runningJob } from "../../tests/support/job.ts";
import { KeptLog } from "../../tests/support/log.ts";
import { Timeout } from "../job/errors.ts";
import { type LeaseStream, StreamWriter } from "./stream_writer.ts";

Deno.test("a job that has lost its lease writes no more chunks, also if it was aborted before for another reason", async () => {
  for (const reason of [undefined, new Timeout(1_000)]) {
    const clock = new FakeClock();
    const job = runningJob();
    if (reason !== undefined) job.abort(reason);
    let writes = 0;
    const append: LeaseStream["append"] = () => {
      writes++;
      return Promise.resolve(false);
    };
    const writer = new StreamWriter(job, { clock, stream: { append } });
    for (let i = 0; i < 3; i++) {
      await writer.write("a chunk");
      for (let turn = 0; turn < 3; turn++) await clock.turn();
    }
    await writer.finish();
    assertEquals([writes, (job.abortedBy as Error).name], [1, reason === undefined ? "LeaseLost" : "Timeout"]);
  }
});

Deno.test("the end of a job waits once for a store that doesn't answer, and logs that once", async () => {
  const clock = new FakeClock();
  const log = new KeptLog();
  const writer = new StreamWriter(runningJob({ log }), { clock, stream: { append: () => new Promise(() => {}) } });
  await writer.write("a chunk");
  await clock.turn();
  const first = writer.finish();
  await clock.advance(5_000);
  await first;
  // The processor finishes the stream again if the job was aborted.
  await writer.finish();
  assertEquals(log.lines.map(({ message }) => message), ["Stream has no end: the store doesn't answer"]);
});
