import { assertEquals } from "@std/assert";
import { KeptLog } from "../../../tests/support/log.ts";
import { systemClock } from "../../clock.ts";
import type { RescueResult } from "../../store/port/jobs.ts";
import { Rescuer } from "./rescuer.ts";
import { Counters } from "../stats/counters.ts";

Deno.test("logs what a rescue did, and once that it waits", async () => {
  const nothing: RescueResult = { rescued: 0, doomed: [], offline: [], more: false, waits: false };
  const [one, two] = ["a", "b"].map((token) => ({ token, worker: "a", queue: "q", payload: "{}", deaths: 3 }));
  const results: RescueResult[] = [
    { ...nothing, rescued: 2, offline: ["a"], doomed: [one!, two!] },
    { ...nothing, offline: ["b", "c"], waits: true },
    { ...nothing, waits: true },
    { ...nothing, offline: ["d"], doomed: [{ ...one!, deaths: 0, cancelled: true }] },
  ];
  const counters = new Counters();
  const log = new KeptLog();
  const rescuer = new Rescuer({
    store: { jobs: { rescue: () => Promise.resolve(results.shift()!) } },
    // Another worker was faster with the second.
    burial: { bury: (job) => Promise.resolve(job !== two) },
    worker: "me",
    clock: systemClock,
    log,
    counters,
    intervalMs: 1,
    maxRescues: 3,
  });
  while (results.length > 0) await rescuer.step();
  assertEquals(log.lines.map(({ message, fields }) => [message, fields["workers"], fields["buried"]]), [
    ["Rescued jobs of offline workers", "a", 1],
    ["Removed offline workers without jobs", "b c", undefined],
    [
      "Workers may be offline: waiting one heartbeat timeout before their jobs are rescued",
      undefined,
      undefined,
    ],
    ["Rescued jobs of offline workers", "d", 0],
  ]);
  assertEquals([log.lines.at(-1)!.fields["cancelled"], counters.buried], [1, 1]);
});
