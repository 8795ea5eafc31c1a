import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { runningJob } from "../../../tests/support/job.ts";
import { blockingTask, BoardReader, TaskBoard } from "./task_board.ts";
import { Tasks } from "./tasks.ts";

/** Tasks, and the other side of their board. */
function shared() {
  const clock = new FakeClock();
  const board = new TaskBoard();
  const tasks = new Tasks(clock, board);
  const reader = new BoardReader(board.buffer);
  return { clock, board, tasks, reader, attach: () => board.attach((word) => reader.learn(word)) };
}

Deno.test("the other side reads each task, its state and its job, also those of before it was attached", async () => {
  const { clock, tasks, reader, attach } = shared();
  const poller = tasks.add("poller");
  await clock.advance(10);
  const processor = tasks.add("processor-1");
  const gone = tasks.add("gone");
  poller.enter("waiting");
  tasks.remove(gone);
  attach();
  const jid = "\u00e9\u{1f600}".padEnd(24, "b");
  processor.perform(runningJob({ class: "Billing::Invoice", jid, queue: "a b", attempt: 3 }));
  processor.calling(true);
  assertEquals(reader.isBusy, true);
  assertEquals(reader.read(), [
    { id: 1, label: "poller", state: "waiting", since: 10, isCalling: false },
    {
      ...{ id: 2, label: "processor-1", state: "performing", since: 10, isCalling: true },
      job: { class: "Billing::Invoice", jid, queue: "a b", attempt: 3 },
    },
  ]);
  processor.calling(false);
  await clock.advance(5);
  processor.rest();
  assertEquals(reader.isBusy, false);
  assertEquals(reader.read()[1], { id: 2, label: "processor-1", state: "idle", since: 15, isCalling: false });
  tasks.remove(processor);
  tasks.remove(processor);
  assertEquals(reader.read().length, 1);
  // A slot that is used again has nothing of its last task.
  assertEquals(tasks.add("later").label, "later");
  assertEquals(reader.read()[1], { id: 4, label: "later", state: "starting", since: 15, isCalling: false });
});

Deno.test("long texts are cut off, and tasks and words that don't fit are left out", () => {
  const { tasks, reader, attach } = shared();
  attach();
  const all = Array.from({ length: 1_030 }, (_, i) => tasks.add(`${"t".repeat(100)}${i}`));
  all.forEach((task, i) => task.perform(runningJob({ class: "A", jid: "j".repeat(100), queue: `q${i}` })));
  assertEquals(reader.read().length, 1_024);
  const [first] = reader.read();
  assertEquals([first!.label, first!.job!.jid], ["t".repeat(64), "j".repeat(64)]);
  for (let i = 0; i < 4_096; i++) all[0]!.perform(runningJob({ class: "A", jid: "j", queue: `other${i}` }));
  assertEquals(reader.read()[0]!.job!.queue, "?");
  all[0]!.perform(runningJob({ class: "A", jid: "j", queue: "q7" }));
  assertEquals(reader.read()[0]!.job!.queue, "q7");
});

Deno.test("the blocking task is the one that calls its handler, or the only one with a job", () => {
  const { tasks, reader, attach } = shared();
  attach();
  const [first, second] = [tasks.add("processor-1"), tasks.add("processor-2")];
  tasks.add("poller");
  assertEquals(blockingTask(reader.read()), undefined);
  first.perform(runningJob({ class: "A", jid: "1", queue: "q" }));
  assertEquals(blockingTask(reader.read())?.label, "processor-1");
  second.perform(runningJob({ class: "B", jid: "2", queue: "q" }));
  assertEquals(blockingTask(reader.read()), undefined);
  second.calling(true);
  assertEquals(blockingTask(reader.read())?.label, "processor-2");
});
