import { assertEquals } from "@std/assert";
import { type Around, blockersOf } from "./blockers.ts";

const AWAKE = { alive: true, quiet: false, busy: 0, concurrency: 2, queues: ["low"], classes: ["Mail"] };
const JOB = { queue: "low", class: "Mail" };

/** In short: what stands in the way of a job. */
function inTheWay(around: Partial<Around>, job: { queue: string; class?: string } = JOB): string {
  return blockersOf(job, { processes: [AWAKE], queues: [], ...around }).map(({ is }) => is).join(" ");
}

Deno.test("obstacles: none where a live process takes the queue and has the class, or does not tell its classes", () => {
  assertEquals(inTheWay({}), "");
  const { classes: _, ...silent } = AWAKE;
  assertEquals(inTheWay({ processes: [{ ...AWAKE, classes: [] }, silent] }), "");
  assertEquals(inTheWay({}, { queue: "low" }), "");
});

Deno.test("obstacles: nobody alive, nobody for the queue, all quiet, all busy", () => {
  assertEquals(inTheWay({ processes: [] }), "no-process");
  assertEquals(inTheWay({ processes: [{ ...AWAKE, alive: false }] }), "no-process");
  assertEquals(inTheWay({}, { queue: "high", class: "Mail" }), "no-taker");
  assertEquals(inTheWay({ processes: [{ ...AWAKE, quiet: true }, { ...AWAKE, alive: false }] }), "quiet");
  const busy = { ...AWAKE, busy: 2 };
  assertEquals(inTheWay({ processes: [busy, { ...AWAKE, quiet: true }] }), "busy");
  assertEquals(inTheWay({ processes: [busy, AWAKE] }), "");
});

Deno.test("obstacles: no handler among those who are awake, busy or not; who is quiet or takes other queues has no say", () => {
  const other = { ...AWAKE, classes: ["Other"] };
  assertEquals(inTheWay({ processes: [other] }), "no-handler");
  assertEquals(inTheWay({ processes: [{ ...other, busy: 2 }] }), "busy no-handler");
  assertEquals(
    inTheWay({ processes: [other, { ...AWAKE, quiet: true }, { ...AWAKE, queues: ["high"] }] }),
    "no-handler",
  );
  assertEquals(inTheWay({ processes: [{ ...other, quiet: true }] }), "quiet");
});

Deno.test("obstacles: a queue at its limit, not one that has room", () => {
  const limit = { running: 2, taken: 2, started: 0, freeInMs: undefined };
  const queue = { name: "low", paused: false };
  assertEquals(inTheWay({ queues: [{ ...queue, limit }] }), "limited");
  assertEquals(
    inTheWay({ queues: [{ ...queue, limit: { ...limit, freeInMs: 500 } }], processes: [] }),
    "limited no-process",
  );
  assertEquals(inTheWay({ queues: [{ ...queue, limit: { ...limit, taken: 1, freeInMs: 0 } }] }), "");
  assertEquals(inTheWay({ queues: [{ ...queue, name: "other", limit }] }), "");
});

Deno.test("obstacles: a paused queue, and all of them, whoever is there", () => {
  const queues = [{ name: "low", paused: true, pausedForMs: 5_000 }, { name: "*", paused: true }, {
    name: "high",
    paused: true,
  }];
  assertEquals(inTheWay({ queues }), "all-paused paused");
  assertEquals(inTheWay({ queues: queues.slice(2) }), "");
  assertEquals(blockersOf(JOB, { processes: [AWAKE], queues })[1], { is: "paused", forMs: 5_000 });
});
