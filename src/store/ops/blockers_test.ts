import { assertEquals } from "@std/assert";
import { type Around, blockersOf } from "./blockers.ts";

const AWAKE = { id: "w:1:a", alive: true, quiet: false, busy: 0, concurrency: 2, queues: ["low"], classes: ["Mail"] };
const JOB = { queue: "low", class: "Mail" };

/** Returns the blockers of a job as words. */
function blockers(around: Partial<Around>, job: { queue: string; class?: string } = JOB): string {
  return blockersOf(job, { workers: [AWAKE], queues: [], ...around }).map(({ is }) => is).join(" ");
}

Deno.test("a live worker that serves the queue and has the class, or reports no classes, leaves no blocker", () => {
  assertEquals(blockers({}), "");
  const { classes: _, ...silent } = AWAKE;
  assertEquals(blockers({ workers: [{ ...AWAKE, classes: [] }, silent] }), "");
  assertEquals(blockers({}, { queue: "low" }), "");
});

Deno.test("names missing workers, an unserved queue, quiet workers and busy workers", () => {
  assertEquals(blockers({ workers: [] }), "no-worker-online");
  assertEquals(blockers({ workers: [{ ...AWAKE, alive: false }] }), "no-worker-online");
  assertEquals(blockers({}, { queue: "high", class: "Mail" }), "no-worker-of-queue");
  assertEquals(blockers({ workers: [{ ...AWAKE, quiet: true }, { ...AWAKE, alive: false }] }), "quiet");
  const stopping = { ...AWAKE, quiet: true, stopping: true };
  assertEquals(blockers({ workers: [stopping] }), "stopping");
  assertEquals(blockers({ workers: [stopping, { ...AWAKE, quiet: true }] }), "quiet");
  assertEquals(blockers({ workers: [stopping, AWAKE] }), "");
  const busy = { ...AWAKE, busy: 2 };
  assertEquals(blockers({ workers: [busy, { ...AWAKE, quiet: true }] }), "busy");
  assertEquals(blockers({ workers: [busy, AWAKE] }), "");
});

Deno.test("names blocked workers, and the job that has run longest while all are busy", () => {
  const work = [100, 50, 70].map((since, i) => ({
    ...{ task: `processor-${i}`, queue: "low", since },
    payload: `{"class":"Mail","jid":"j${i}"}`,
  }));
  const busy = { ...AWAKE, busy: 2, work };
  assertEquals(blockersOf(JOB, { workers: [busy, { ...AWAKE, blocked: { since: 60 } }], queues: [] }), [
    { is: "busy", stall: { is: "running", worker: "w:1:a", since: 50, class: "Mail", jid: "j1" } },
  ]);
  const blocked = { ...AWAKE, blocked: { since: 60, task: "processor-1", class: "Spin", jid: "s" } };
  assertEquals(blockersOf(JOB, { workers: [blocked, { ...AWAKE, quiet: true }], queues: [] }), [
    { is: "blocked", stall: { is: "blocked", worker: "w:1:a", since: 60, class: "Spin", jid: "s" } },
  ]);
  assertEquals(blockers({ workers: [blocked, AWAKE] }), "");
});

Deno.test("names a missing handler only by the workers of the queue that aren't quiet", () => {
  const other = { ...AWAKE, classes: ["Other"] };
  assertEquals(blockers({ workers: [other] }), "no-handler");
  assertEquals(blockers({ workers: [{ ...other, busy: 2 }] }), "busy no-handler");
  assertEquals(
    blockers({ workers: [other, { ...AWAKE, quiet: true }, { ...AWAKE, queues: ["high"] }] }),
    "no-handler",
  );
  assertEquals(blockers({ workers: [{ ...other, quiet: true }] }), "quiet");
});

Deno.test("names the limit of a queue without room", () => {
  const limit = { running: 2, taken: 2, started: 0, freeInMs: undefined };
  const queue = { name: "low", paused: false };
  assertEquals(blockers({ queues: [{ ...queue, limit }] }), "limited");
  assertEquals(
    blockers({ queues: [{ ...queue, limit: { ...limit, freeInMs: 500 } }], workers: [] }),
    "limited no-worker-online",
  );
  assertEquals(blockers({ queues: [{ ...queue, limit: { ...limit, taken: 1, freeInMs: 0 } }] }), "");
  assertEquals(blockers({ queues: [{ ...queue, name: "other", limit }] }), "");
});

Deno.test("names the pauses of the queue and of all queues", () => {
  const queues = [{ name: "low", paused: true, pausedForMs: 5_000 }, { name: "*", paused: true }, {
    name: "high",
    paused: true,
  }];
  assertEquals(blockers({ queues }), "all-paused paused");
  assertEquals(blockers({ queues: queues.slice(2) }), "");
  assertEquals(blockersOf(JOB, { workers: [AWAKE], queues })[1], { is: "paused", forMs: 5_000 });
});
