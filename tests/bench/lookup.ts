/**
 * Measures how long it takes to find jobs among many that are queued: one by its jid, those that contain a text, those that match a
 * filter, and a page of the list. Prints one line of JSON.
 *
 *     deno run -A tests/bench/lookup.ts STORE-URL COUNT
 */
import { Client } from "../../src/client/client.ts";
import { systemClock } from "../../src/clock.ts";
import { jobsIn } from "../../src/operator/query/jobs.ts";
import { page } from "../../src/store/ops/scan.ts";
import { openStore } from "../../src/store/open.ts";
import { spreadOf } from "./measure.ts";

/** The costs. */
export interface LookupCosts {
  /** One job, by its jid. */
  readonly jidMs: number;
  /** The only job that contains a text. */
  readonly textMs: number;
  /** The only job of a class, by a filter that reads each job. */
  readonly filterMs: number;
  /** A page of 100, in the middle of a walk. */
  readonly pageMs: number;
}

const QUEUE = "unread";
const JIDS = 5;
const SEARCHES = 3;
const PAGES = 50;

if (import.meta.main) {
  const [url, counted] = Deno.args;
  const count = Number(counted);
  await using store = await openStore(url!);
  const client = new Client({ store, onUnregistered: () => {} });
  const jids: string[] = [];
  const requests = function* () {
    for (let i = 0; i < count; i++) {
      const isRare = i === count >> 1;
      yield { class: isRare ? "Rare" : "Noop", args: [isRare ? "invoice 94086" : "bob", i], queue: QUEUE };
    }
  };
  let position = 0;
  for await (const { jid, refused } of client.pushMany(requests())) {
    if (refused !== undefined || jid === undefined) throw new Error(refused);
    // The oldest, the youngest, and some in between.
    if (position % Math.ceil(count / (JIDS - 1)) === 0 || position === count - 1) jids.push(jid);
    position++;
  }
  const timed = async (search: () => Promise<number>) => {
    const start = performance.now();
    if (await search() !== 1) throw new Error("Expected to find one job");
    return performance.now() - start;
  };
  const repeated = async (times: number, search: (i: number) => Promise<number>) => {
    const each: number[] = [];
    for (let i = 0; i < times; i++) each.push(await timed(() => search(i)));
    return Math.round(spreadOf(each).median * 100) / 100;
  };
  const place = { in: "queue", queue: QUEUE } as const;
  const rare = jobsIn({ store }, { place, filter: { class: "Rare" } });
  let cursor: string | undefined;
  const costs: LookupCosts = {
    jidMs: await repeated(jids.length, async (i) => (await store.jobs.find([jids[i]!])).length),
    textMs: await repeated(SEARCHES, async () => (await store.jobs.find({ text: "Invoice 94086", limit: 26 })).length),
    filterMs: await repeated(SEARCHES, async () => (await page(rare, systemClock, { limit: 25 })).rows.length),
    pageMs: await repeated(PAGES, async () => {
      const { next } = await store.admin.page(place, { limit: 100, ...(cursor !== undefined && { cursor }) });
      cursor = next;
      return 1;
    }),
  };
  console.log(JSON.stringify(costs));
}
