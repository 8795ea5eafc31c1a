/**
 * The dashboard with a million dead jobs: the time of its pages, on both stores. Figures, not tests.
 *
 *   deno run -A tests/bench/web.ts [JOBS]
 */
import { systemClock } from "../../src/clock.ts";
import { openSite } from "../web/site.ts";
import type { Store } from "../../src/store/admin/store.ts";

const JOBS = Number(Deno.args[0] ?? 1_000_000);
const BATCH = 5_000;

for (const kind of ["sqlite", "redis"] as const) {
  await using site = await openSite(kind, { deadMaxJobs: 2 * JOBS, clock: systemClock });
  await fill(site.store);
  console.log(`\n${kind}: ${(await site.store.admin.stats()).dead} dead jobs, MB used here: ${memory()}`);
  const someone = site.visitor();
  const [last] = (await site.store.admin.page({ in: "dead" }, { limit: 1, reverse: true })).entries;
  const paths = {
    "overview": "/",
    "first page": "/dead",
    "other end": "/dead?order=forward",
    "page of 1,000": "/dead?limit=1000",
    "frequent class": "/dead?class=Import",
    "rare text, searched for 600 ms": "/dead?q=needle-in-the-hay",
    "one job by its row": `/jobs/${JSON.parse(last!.payload).jid}?ref=${encodeURIComponent(last!.ref)}`,
    "one job by its jid": `/jobs/${"5".padStart(24, "0")}`,
    "search": "/search?q=account-77",
    "metrics": "/metrics",
  };
  for (const [name, path] of Object.entries(paths)) {
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const start = performance.now();
      await someone.visit(path);
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    console.log(`  ${name.padEnd(30)} ${times[2]!.toFixed(1).padStart(8)} ms  (worst ${times[4]!.toFixed(1)})`);
  }
  const deep = await jumpTo(site.store, 20);
  const start = performance.now();
  await someone.visit(`/dead?cursor=${encodeURIComponent(deep)}`);
  console.log(`  ${"20,000 jobs in".padEnd(30)} ${(performance.now() - start).toFixed(1).padStart(8)} ms`);
  const begin = performance.now();
  const answer = await someone.api("POST", "/actions", { action: "delete", all: { in: "dead" } });
  console.log(
    `  ${"delete all: answer".padEnd(30)} ${(performance.now() - begin).toFixed(1).padStart(8)} ms, ${answer.status}`,
  );
  while ((await site.store.admin.stats()).dead > 0) await new Promise((resolve) => setTimeout(resolve, 100));
  console.log(
    `  ${"delete all: done".padEnd(30)} ${
      (performance.now() - begin).toFixed(0).padStart(8)
    } ms, MB used here: ${memory()}`,
  );
}

/** Dead jobs as operators produce them: pushed for later, then killed. */
async function fill(store: Store): Promise<void> {
  for (let from = 0; from < JOBS; from += BATCH) {
    await store.jobs.enqueue(Array.from({ length: Math.min(BATCH, JOBS - from) }, (_, i) => {
      const number = from + i;
      const jid = String(number).padStart(24, "0");
      const payload = JSON.stringify({
        class: ["Import", "Mail", "Report"][number % 3],
        args: [`account-${number}`, { plan: "basic", password: "hunter2" }],
        jid,
        queue: "default",
        error_class: "TypeError",
        error_message: `No such account: account-${number}`,
        failed_at: 1_700_000_000.5,
        retry_count: 24,
      });
      return { jid, queue: "default", payload };
    }));
    while (await store.jobs.edit({ in: { in: "queue", queue: "default" }, limit: BATCH }, "kill") > 0);
  }
}

/** Returns the cursor this many pages of a thousand further. */
async function jumpTo(store: Store, pages: number): Promise<string> {
  let cursor: string | undefined;
  for (let i = 0; i < pages; i++) {
    const page = await store.admin.page({ in: "dead" }, {
      limit: 1_000,
      reverse: true,
      ...(cursor === undefined ? {} : { cursor }),
    });
    cursor = page.next;
  }
  return cursor ?? "";
}

function memory(): number {
  return Math.round(Deno.memoryUsage().rss / 1024 / 1024);
}
