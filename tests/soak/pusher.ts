/**
 * A pusher of a soak, as a program: pushes jobs of all kinds until its input closes, and writes each answer to a ledger,
 * where the answer survives this program.
 *
 * Arguments: store, ledger, seed, jobs per second, the name of their kinds.
 */
import { Client } from "../../src/client/client.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import { openStore } from "../../src/store/open.ts";
import { filler, KINDS, type KindsName } from "./kinds.ts";
import { Random } from "./random.ts";
import type { Push } from "./records.ts";
import { pause, uptime } from "./uptime.ts";
import type { Store } from "../../src/store/admin/store.ts";

const LANES = 8;
const BULK_PROBABILITY = 0.005;

const [url, ledgerFile, seed, rate, kinds] = Deno.args as [string, string, string, string, KindsName];
const pauseMs = 1_000 * LANES / Number(rate);
const random = new Random(Number(seed));
using ledger = Deno.openSync(ledgerFile, { append: true, create: true });
const stop = new AbortController();
const inputCloses = (async () => {
  for await (const _ of Deno.stdin.readable);
  stop.abort();
})();
await using store = await open();
const client = store && new Client({ store });
if (client) await Promise.all(Array.from({ length: LANES }, () => pushUntilStopped(client)));
await inputCloses;

/** Opens the store, again and again while it is down; undefined when this program is to stop. */
async function open(): Promise<Store | undefined> {
  while (!stop.signal.aborted) {
    try {
      return await openStore(url);
    } catch (error) {
      if (!(error instanceof StoreError && error.transient)) throw error;
      await pause(200, stop.signal);
    }
  }
}

async function pushUntilStopped(client: Client): Promise<void> {
  while (!stop.signal.aborted) {
    await pause(2 * random.next() * pauseMs, stop.signal);
    try {
      if (kinds === "all" && random.chance(BULK_PROBABILITY)) await pushBulk(client);
      else await pushOne(client);
    } catch (error) {
      // Not acknowledged: nothing is promised of these jobs.
      if (!(error instanceof StoreError || (error as Error).name === "BulkInterrupted")) throw error;
    }
  }
}

async function pushOne(client: Client): Promise<void> {
  const { args, ...job } = random.pick(KINDS[kinds]).make(random);
  const jid = crypto.randomUUID().replaceAll("-", "").slice(0, 24);
  const key = job.unique_for === undefined ? undefined : String(args[1]);
  const from = uptime();
  // Jobs share a lock when they have the same arguments.
  const more = kinds === "all" && key === undefined ? [filler(random)] : [];
  const stored = await client.push({ ...job, jid, args: [...args, ...more] });
  note({ jid, class: job.class, from, answer: stored === undefined ? "refused" : "stored", ...(key && { key }) });
}

async function pushBulk(client: Client): Promise<void> {
  const args = Array.from({ length: random.between(20, 150) }, () => [filler(random)]);
  const from = uptime();
  const results = await client.pushBulk({ class: "Quick", args, queue: "bulk" });
  for (const { jid } of results) if (jid !== undefined) note({ jid, class: "Quick", from, answer: "stored" });
}

function note(push: Omit<Push, "t">): void {
  ledger.writeSync(new TextEncoder().encode(`${JSON.stringify({ ...push, t: uptime() })}\n`));
}
