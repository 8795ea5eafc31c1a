/** The running jobs of `jobs top`. */
import { assertEquals } from "@std/assert";
import type { Entry } from "../../store/port/entries.ts";
import { somePayload, someWorker } from "../../../tests/support/snapshot.ts";
import { runningJobs } from "./running_jobs.ts";

Deno.test("a worker runs at most as many jobs as its concurrency, however many it has leased", () => {
  const workers = [
    someWorker("web1:1:a", [], { concurrency: 2, busy: 0, totals: {} }),
    someWorker("web1:2:b", [], { concurrency: 2, busy: 2, totals: {} }),
  ];
  const leased = (worker: string, jid: string): Entry => ({
    ref: `${worker} ${jid}`,
    place: { in: "running" },
    payload: somePayload(jid),
    at: 1,
    worker,
  });
  const entries = ["j1", "j2", "j3"].map((jid) => leased("web1:1:a", jid));
  const { workers: counted } = runningJobs(workers, { entries: [...entries, leased("web1:2:b", "j4")] });
  assertEquals(counted.map(({ busy }) => busy), [2, 1]);
});
