import { assertEquals } from "@std/assert";
import { KeptLog } from "../../tests/support/log.ts";
import { systemClock } from "../clock.ts";
import type { RescueResult, Store } from "../store/store.ts";
import { Rescuer } from "./rescuer.ts";
import { Tally } from "./tally.ts";

Deno.test("what a rescue came to is said by what it did", async () => {
  const results: RescueResult[] = [
    { rescued: 2, buried: 0, owners: ["a"] },
    { rescued: 0, buried: 0, owners: ["b", "c"] },
    { rescued: 0, buried: 0, owners: [] },
  ];
  const log = new KeptLog();
  const rescuer = new Rescuer({
    store: { rescue: () => Promise.resolve(results.shift()!) } as unknown as Store,
    clock: systemClock,
    log,
    tally: new Tally(),
    intervalMs: 1,
    maxRescues: 3,
    steady: () => true,
  });
  while (results.length > 0) await rescuer.step();
  assertEquals(log.lines.map(({ message, fields }) => [message, fields["processes"]]), [
    ["Rescued the jobs of dead processes", "a"],
    ["Forgot dead processes, which had no jobs", "b c"],
  ]);
});
