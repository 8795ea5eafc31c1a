/**
 * `make demo`: a real server on a store in a temporary folder, a few dozen jobs of several kinds pushed from here, and
 * what became of them.
 */
import { Client } from "../src/client/client.ts";
import { openStore } from "../src/store/open.ts";
import type { Store } from "../src/store/admin/store.ts";

const say = (text: string) => console.log(`\x1b[1m${text}\x1b[0m`);
const folder = await Deno.makeTempDir({ prefix: "jobs-demo-" });
const url = `sqlite:${folder}/demo.db`;

say("Starting: jobs run examples/handlers.js -c 5");
const server = new Deno.Command(Deno.execPath(), {
  args: ["run", "-A", "--no-prompt", "main.ts", "run", "examples/handlers.js", "-c", "5", "--store", url],
  env: { JOBS_LOG_FORMAT: "pretty" },
  stdin: "null",
}).spawn();

let failed = false;
try {
  await using store = await openStore(url);
  await until(store, async () => (await store.workers.list()).length === 1);

  say("Pushing: 30 quick, 5 slow, 2 that fail twice, 3 for later, 1 invoice, 1 that dies");
  const client = new Client({ store });
  await client.pushBulk({ class: "Greet", args: Array.from({ length: 30 }, (_, i) => [`guest ${i + 1}`]) });
  for (let i = 1; i <= 5; i++) await client.push({ class: "Resize", args: [`photo-${i}.png`, 1], queue: "images" });
  await client.push({ class: "Flaky", args: ["https://example.org/a"] });
  await client.push({ class: "Flaky", args: ["https://example.org/b"] });
  for (let i = 1; i <= 3; i++) await client.push({ class: "Greet", args: [`latecomer ${i}`], in: `${i}s` });
  await client.push({ class: "Billing::InvoiceJob", args: [{ customer: "ACME", cents: 129_900 }] });
  await client.push({ class: "Doomed", args: [], retry: 0 });

  await until(store, async () => {
    const { enqueued, scheduled, retry, leased } = await store.admin.stats();
    return enqueued + scheduled + retry + leased === 0;
  });
  const { processed, failed: failures, dead } = await store.admin.stats();
  // 42 jobs; each Flaky takes three tries.
  say(`Done: ${processed} tries, ${failures} failures, ${dead} dead job; nothing lost`);
  failed = processed !== 46 || failures !== 5 || dead !== 1;
} finally {
  say("Stopping the server (TERM)");
  server.kill("SIGTERM");
  failed = !(await server.status).success || failed;
  await Deno.remove(folder, { recursive: true });
}
if (failed) say("This is not what was expected");
else say("Now try it yourself: make run, and in another terminal: ./jobs push Greet bob");
Deno.exit(failed ? 1 : 0);

/** Looks again and again, until it is so; a minute at most. */
async function until(store: Store, isSo: () => Promise<boolean>): Promise<void> {
  for (let i = 0; !await isSo(); i++) {
    if (i === 600) throw new Error(`Nothing happens any more: ${JSON.stringify(await store.admin.stats())}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
