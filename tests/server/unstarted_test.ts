/** Jobs that have not started, shared between the main thread and the heartbeat's thread. */
import { assert, assertEquals } from "@std/assert";
import { UnstartedJobs } from "../../src/server/work/unstarted.ts";
import { UnstartedMemory } from "../../src/server/work/unstarted_memory.ts";
import { LoopWatch } from "../../src/server/liveness/loop_watch.ts";
import type { Lease } from "../../src/store/port/jobs.ts";
import { FakeClock } from "../support/clock.ts";

function leases(from: number, to: number): Lease[] {
  return Array.from({ length: to - from + 1 }, (_, i) => {
    const n = `${from + i}`;
    return { token: n, queue: "default", payload: `{"class":"A","args":[],"jid":"jid ${n}"}` };
  });
}

/** Starts the oldest one. */
function startOne(jobs: UnstartedJobs): string | undefined {
  if (jobs.first() === undefined) return undefined;
  const lease = jobs.hand();
  return jobs.begin(lease) ? lease.token : undefined;
}

/** Both sides in one thread, on a clock that the test moves. */
function lab() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const returned: string[][] = [];
  let isAlive = true;
  const jobs = new UnstartedJobs();
  const memory = new UnstartedMemory(jobs.attach(() => void watch.watch()));
  const watch: LoopWatch = new LoopWatch({
    clock,
    signal: stop.signal,
    ping: () => isAlive && watch.replied(),
    rest: () => !memory.hasWaiting && memory.sleep(),
    onBlocked: () => {
      const claimed = memory.claimAll();
      if (claimed.length > 0) returned.push(claimed.map(({ token }) => token));
    },
    onUnblocked: () => {},
  });
  void watch.watch();
  return { clock, watch, jobs, returned, block: () => isAlive = false, wake: () => isAlive = true, stop };
}

Deno.test("each job is either kept or returned, never both, when both threads claim it at the same moment", async () => {
  const thread = new Worker(new URL("../support/unstarted_thread.ts", import.meta.url), { type: "module" });
  const answers: ((tokens: string[]) => void)[] = [];
  thread.onmessage = ({ data }: MessageEvent<string[]>) => answers.shift()!(data);
  const answer = () => new Promise<string[]>((resolve) => answers.push(resolve));
  const memory = new UnstartedMemory();
  const begins = answer();
  thread.postMessage(memory.buffer);
  await begins;
  const returned = answer();
  const kept: string[] = [];
  let shared = 0;
  // The last slot is for the end. A slot that the thread has claimed is not used again.
  // Continues until each side has won one: on a busy machine the thread may not run for a second.
  for (let slot = 0; slot < memory.slots - 1 && (shared < 300_000 || slot === 0); shared++) {
    memory.share(slot, `${shared}`, shared);
    if (memory.keep(slot)) kept.push(`${shared}`);
    else slot++;
  }
  memory.share(memory.slots - 1, "end", shared);
  const all = [...kept, ...await returned];
  thread.terminate();
  assertEquals([all.length, new Set(all).size], [shared, shared]);
  assert(kept.length > 0 && kept.length < shared, `${kept.length} kept of ${shared}`);
});

Deno.test("jobs are returned to their queue in order when the event loop has been blocked for a second", async () => {
  const t = lab();
  t.jobs.add(leases(1, 3));
  t.jobs.add(leases(4, 6));
  assertEquals([startOne(t.jobs), startOne(t.jobs)], ["1", "2"]);
  await t.clock.advance(10_000);
  assertEquals(t.returned, [], "it turns");
  t.block();
  await t.clock.advance(249 + 1_000);
  assertEquals(t.returned, []);
  await t.clock.advance(1);
  assertEquals(t.returned, [["3", "4", "5", "6"]]);
  assertEquals([startOne(t.jobs), t.jobs.size, t.jobs.total], [undefined, 0, 4]);
  t.jobs.returned(t.returned[0]!);
  assertEquals(t.jobs.total, 0);
});

Deno.test("a job that a processor is about to start is returned, too", async () => {
  const t = lab();
  t.jobs.add(leases(1, 2));
  t.jobs.first();
  const handed = t.jobs.hand();
  t.jobs.beginLater(handed);
  t.block();
  await t.clock.advance(1_250);
  assertEquals(t.returned, [["1", "2"]]);
  assertEquals(t.jobs.begin(handed), false);
  // The same if the message of the thread comes first.
  t.jobs.add(leases(3, 3));
  t.jobs.first();
  const next = t.jobs.hand();
  t.jobs.beginLater(next);
  t.jobs.returned(["1", "2", "3"]);
  assertEquals([t.jobs.begin(next), t.jobs.total], [false, 0]);
});

Deno.test("the thread watches only while jobs wait", async () => {
  const t = lab();
  t.jobs.add(leases(1, 2));
  startOne(t.jobs);
  await t.clock.advance(10_000);
  assertEquals(t.clock.sleeping.length, 1);
  startOne(t.jobs);
  await t.clock.advance(250);
  assertEquals(t.clock.sleeping.length, 0);
  t.jobs.add(leases(3, 3));
  assertEquals(t.clock.sleeping.length, 1);
  t.block();
  await t.clock.advance(1_250);
  assertEquals(t.returned, [["3"]]);
});

Deno.test("jobs keep their order when slots are reused, and when there are more jobs than slots", async () => {
  const t = lab();
  t.jobs.add(leases(1, 10));
  for (let i = 0; i < 5; i++) startOne(t.jobs);
  t.jobs.add(leases(11, 3_000));
  t.block();
  await t.clock.advance(1_250);
  const [tokens] = t.returned as [string[]];
  assertEquals(tokens, Array.from({ length: tokens.length }, (_, i) => `${i + 6}`));
  assertEquals(t.jobs.tokens, Array.from({ length: 2_995 - tokens.length }, (_, i) => `${i + 6 + tokens.length}`));
  t.jobs.returned(tokens);
  // All slots are free again.
  assertEquals(t.jobs.clear().length, 2_995 - tokens.length);
  t.jobs.add(leases(1, 2_048));
  await t.clock.advance(1_250);
  assertEquals(t.returned[1]?.length, 2_048);
});

Deno.test("tokens are returned unchanged for any queue name, and a job with too long a token stays", async () => {
  const t = lab();
  const names = ["a\nb\u0000", "schl\u00fcssel \u{1f600}", "x".repeat(160)];
  const all = [...names, "x".repeat(161)].map((token) => ({ token, queue: "q", payload: "{}" }));
  t.jobs.add(all);
  t.block();
  await t.clock.advance(1_250);
  assertEquals(t.returned, [names]);
  assertEquals(t.jobs.tokens, ["x".repeat(161)]);
});

Deno.test("the thread does not return a job that the main thread has taken out", async () => {
  const t = lab();
  t.jobs.add(leases(1, 5));
  assertEquals(t.jobs.withdraw("jid 2")?.token, "2");
  assertEquals(t.jobs.drop(new Set(["4"])).map(({ token }) => token), ["4"]);
  t.block();
  await t.clock.advance(1_250);
  assertEquals(t.returned, [["1", "3", "5"]]);
  // And the reverse.
  assertEquals(t.jobs.tokens, []);
  assertEquals([t.jobs.withdraw("jid 3"), t.jobs.drop(new Set(["1"])), t.jobs.clear()], [undefined, [], []]);
  t.jobs.returned(["1", "3", "5"]);
  assertEquals(t.jobs.total, 0);
});

Deno.test("a job that was handed out and put back is the next to be handed out", () => {
  const { jobs } = lab();
  jobs.add(leases(1, 2));
  jobs.putBack(jobs.hand());
  assertEquals([startOne(jobs), startOne(jobs), startOne(jobs)], ["1", "2", undefined]);
});

Deno.test("when the thread ends, the jobs that it was returning are reported, and the next thread watches the others", async () => {
  const t = lab();
  t.jobs.add(leases(1, 2));
  t.block();
  await t.clock.advance(1_250);
  t.jobs.add(leases(3, 4));
  assertEquals(t.jobs.detach(), ["1", "2"]);
  const memory = new UnstartedMemory(t.jobs.attach(() => {}));
  await t.clock.advance(10_000);
  assertEquals(t.returned, [["1", "2"]], "the thread that has ended gets nothing more");
  assertEquals(memory.claimAll().map(({ token }) => token), ["3", "4"]);
  assertEquals([t.jobs.size, startOne(t.jobs), t.jobs.total], [2, undefined, 2]);
});
