/** The fetcher, beside processors whose jobs are so quick that they never leave the turn of the event loop. */
import { assertEquals } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { Client } from "../../src/client/client.ts";
import { Fetcher } from "../../src/server/work/fetcher.ts";
import { Settler } from "../../src/server/work/settler.ts";
import { Counters } from "../../src/server/stats/counters.ts";
import type { TakeRequest } from "../../src/store/port/jobs.ts";
import { FakeClock } from "../support/clock.ts";
import { KeptLog } from "../support/log.ts";
import { sqliteFolder } from "../support/stores.ts";
import type { ServerStore } from "../../src/store/port/store.ts";

/** No lease can have been lost. */
const SURE = { isSure: true, confirm: () => Promise.resolve() };

Deno.test("a request for more jobs goes out before those at hand are done, however quick they are", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  await new Client({ store }).pushBulk({ class: "Noop", args: Array.from({ length: 200 }, () => []) });
  const clock = new FakeClock();
  let done = 0;
  const doneAtRequests: number[] = [];
  /** As one on the network: what is asked for in one turn goes out in the next. */
  const distant = {
    async take(request: TakeRequest) {
      await systemClock.turn();
      doneAtRequests.push(done);
      return await store.jobs.take(request);
    },
  } as unknown as ServerStore;
  const owner = "host:1:a";
  const settler = new Settler({ store, owner, clock, log: new KeptLog(), counters: new Counters() });
  const fetcher = new Fetcher({ store: distant, owner, clock, settler, leaseGuard: SURE, order: () => ["default"] });

  // At the rate of 50 jobs in 10 ms, 100 are taken ahead.
  for (let i = 0; i < 50; i++) fetcher.next();
  await clock.advance(10);
  await fetcher.step();
  assertEquals(fetcher.waiting, 100);
  // Half of them are used up: the next step asks for more, and a processor goes on meanwhile.
  for (let i = 0; i < 50; i++) fetcher.next();
  const stop = new AbortController();
  const asked = fetcher.step();
  const processor = (async () => {
    while (fetcher.next() ?? await fetcher.wait(stop.signal)) done++;
  })();
  await asked;
  await systemClock.turn();
  assertEquals(doneAtRequests, [0, 0]);
  assertEquals(done, 100, "it goes on with those, and with the new ones");
  stop.abort();
  await processor;
});

Deno.test("what waits here and is lost is named by its jid, or as unreadable where others wrote no text as a jid", async () => {
  const clock = new FakeClock();
  const payloads = [`{"class":"A","args":[],"jid":"a"}`, `{"class":"A","args":[],"jid":{"toString":1}}`, "no JSON"];
  const leases = payloads.map((payload, i) => ({ token: `${i}`, queue: "default", payload }));
  const store = { take: () => Promise.resolve(leases) } as unknown as ServerStore;
  const owner = "host:1:a";
  const settler = new Settler({ store, owner, clock, log: new KeptLog(), counters: new Counters() });
  const fetcher = new Fetcher({ store, owner, clock, settler, leaseGuard: SURE, order: () => ["default"] });
  for (let i = 0; i < 50; i++) fetcher.next();
  await clock.advance(10);
  await fetcher.step();
  assertEquals(fetcher.lose(new Set(["0", "1", "2"])).join(" "), "a (unreadable) (unreadable)");
});
