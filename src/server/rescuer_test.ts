import { assertEquals } from "@std/assert";
import { KeptLog } from "../../tests/support/log.ts";
import { systemClock } from "../clock.ts";
import type { RescueResult } from "../store/store.ts";
import { Rescuer } from "./rescuer.ts";
import { Tally } from "./tally.ts";

Deno.test("logs what a rescue did, and once that it waits", async () => {
  const results: RescueResult[] = [
    { rescued: 2, buried: 0, owners: ["a"], waits: false },
    { rescued: 0, buried: 0, owners: ["b", "c"], waits: true },
    { rescued: 0, buried: 0, owners: [], waits: true },
  ];
  const log = new KeptLog();
  const rescuer = new Rescuer({
    store: { rescue: () => Promise.resolve(results.shift()!) },
    owner: "me",
    clock: systemClock,
    log,
    tally: new Tally(),
    intervalMs: 1,
    maxRescues: 3,
  });
  while (results.length > 0) await rescuer.step();
  assertEquals(log.lines.map(({ message, fields }) => [message, fields["processes"]]), [
    ["Rescued the jobs of dead processes", "a"],
    ["Forgot dead processes, which had no jobs", "b c"],
    ["Workers may be offline: waiting until each has had a heartbeat timeout to show that it lives", undefined],
  ]);
});
