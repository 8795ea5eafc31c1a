import { assertEquals, assertMatch } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { runningJob } from "../../../tests/support/job.ts";
import { type DumpCounts, dumpTasks, formatDump } from "./dump.ts";
import { Tasks } from "./tasks.ts";

const COUNTS: DumpCounts = {
  worker: "host:1:abc",
  concurrency: 10,
  busy: 1,
  leases: 4,
  waiting: 2,
  unsettled: 1,
  loopDelayMs: 3,
  unhandledErrors: 5,
  quiet: undefined,
};

Deno.test("lists each task with its state and for how long", async () => {
  const clock = new FakeClock();
  const tasks = new Tasks(clock);
  const poller = tasks.add("poller");
  await clock.advance(500);
  tasks.add("fetcher").enter("taking");
  const gone = tasks.add("gone");
  await clock.advance(1_500);
  poller.enter("waiting");
  tasks.remove(gone);
  clock.set(0); // the wall clock doesn't matter
  assertEquals(dumpTasks(tasks, clock), [
    { task: 1, label: "poller", state: "waiting", forMs: 0 },
    { task: 2, label: "fetcher", state: "taking", forMs: 1_500 },
  ]);
});

Deno.test("shows a processor's job with its progress, last line and abort reason", async () => {
  const clock = new FakeClock();
  const tasks = new Tasks(clock);
  const processor = tasks.add("processor-1");
  const job = runningJob({ class: "Resize", jid: "b".repeat(24), queue: "images", attempt: 2 });
  processor.perform(job);
  await clock.advance(1_234);
  const plain = { class: "Resize", jid: "b".repeat(24), queue: "images", attempt: 2 };
  assertEquals(dumpTasks(tasks, clock), [
    { task: 1, label: "processor-1", state: "performing", forMs: 1_234, job: plain },
  ]);
  job.report(50);
  assertEquals(dumpTasks(tasks, clock)[0]?.job, { ...plain, progress: "50" });
  job.report(50, "percent");
  job.log.info("halfway");
  job.abort(new TypeError("stopping"));
  assertEquals(dumpTasks(tasks, clock)[0]?.job, {
    ...plain,
    progress: "50 percent",
    lastLine: "halfway",
    aborted: "TypeError",
  });
  job.pid = 4711;
  assertEquals(dumpTasks(tasks, clock)[0]?.job?.pid, 4711);
  assertMatch(formatDump(dumpTasks(tasks, clock), COUNTS)[0]!, / attempt 2 pid 4711 progress 50 percent /);
  processor.rest();
  assertEquals(dumpTasks(tasks, clock), [{ task: 1, label: "processor-1", state: "idle", forMs: 0 }]);
});

Deno.test("formats a line per task, in columns, then the counts", async () => {
  const clock = new FakeClock();
  const tasks = new Tasks(clock);
  for (let i = 1; i < 10; i++) tasks.remove(tasks.add("earlier"));
  tasks.add("poller").enter("waiting");
  const job = runningJob({ class: "Resize", jid: "b".repeat(24), queue: "images", attempt: 2 });
  job.report(50, "percent");
  job.log.info("halfway");
  tasks.add("processor-1").perform(job);
  await clock.advance(65_000);
  const lines = formatDump(dumpTasks(tasks, clock), COUNTS);
  assertEquals(lines.slice(0, -1), [
    "task 10  poller       waiting         1m5s",
    "task 11  processor-1  performing      1m5s  " +
    'Resize bbbbbbbbbbbbbbbbbbbbbbbb queue images attempt 2 progress 50 percent last "halfway"',
  ]);
  assertMatch(
    lines.at(-1)!,
    /^busy 1\/10, leases 4, waiting 2, unsettled 1, memory \d+ MB \(heap \d+ MB\), event-loop delay 3 ms, unhandled errors 5, worker host:1:abc$/,
  );
  assertMatch(formatDump([], { ...COUNTS, quiet: "quiet" })[0]!, /unhandled errors 5, quiet, worker host:1:abc$/);
});

Deno.test("removes control characters from names and texts of jobs", () => {
  const tasks = new Tasks(new FakeClock());
  const text = "a\n\r\x1b[2J\x9b\u2028b";
  const job = runningJob({ class: text, jid: text, queue: text });
  job.report(1, text);
  job.log.info(text);
  tasks.add("processor-1").perform(job);
  for (const line of formatDump(dumpTasks(tasks, new FakeClock()), COUNTS)) {
    // deno-lint-ignore no-control-regex -- the test is about control characters
    assertMatch(line, /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]+$/);
  }
});
