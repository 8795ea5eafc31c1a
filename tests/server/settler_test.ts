/** The settler, where an outcome comes too late: its lease was another's by then. */
import { assertEquals } from "@std/assert";
import { Settler } from "../../src/server/settler.ts";
import { Tally } from "../../src/server/tally.ts";
import type { Store } from "../../src/store/store.ts";
import { FakeClock } from "../support/clock.ts";
import { KeptLog } from "../support/log.ts";

Deno.test("outcomes that came too late are told once with the jids that can be told, whatever others wrote as a jid", async () => {
  const store = {
    settle: (_owner: string, outcomes: readonly { token: string }[]) =>
      Promise.resolve({ lost: outcomes.map(({ token }) => token), dropped: 0 }),
  } as unknown as Store;
  const clock = new FakeClock();
  const log = new KeptLog();
  const tally = new Tally();
  let lost = 0;
  const settler = new Settler({ store, owner: "host:1:a", clock, log, tally, onLost: () => lost++ });
  const jids = [`"a"`, `{"toString":1,"join":2}`, `["x","y"]`, "7"];
  for (const [i, jid] of jids.entries()) {
    settler.add({ kind: "bury", token: `${i}`, payload: `{"class":"A","args":[],"jid":${jid}}` });
  }
  const flushed = settler.flush();
  await clock.untilSleeping();
  await clock.advance(1_000);
  await flushed;
  assertEquals(log.lines, [{
    level: "warn",
    message: "Leases lost: this process was taken for dead, and these jobs run again elsewhere",
    fields: { count: 4, jids: "a 7" },
  }]);
  assertEquals([tally.leasesLost, lost], [4, 1]);
});
