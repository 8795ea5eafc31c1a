/**
 * A worker in a separate process that runs jobs of groups, for tests that kill and freeze it. Arguments: the address of the store,
 * its ID, the heartbeat timeout in milliseconds. For each job it appends a line to standard output when the job starts and
 * when the job ends, before it is acknowledged: `start JID GROUP TIME`, by the clock of the machine, which the store uses, too.
 * For each heartbeat: `beat - - TIME`.
 *
 * @module
 */
import { systemClock } from "../../src/clock.ts";
import { getField } from "../../src/job/raw.ts";
import { openStore } from "../../src/store/open.ts";
import type { Lease } from "../../src/store/port/jobs.ts";
import { workerRecord } from "../store_contract/jobs.ts";

const [url, worker, ttl] = Deno.args as [string, string, string];
const encoder = new TextEncoder();
/** Prints a line in one write, so that a kill leaves no partial line. */
const note = (what: string, lease: Lease) =>
  Deno.stdout.writeSync(
    encoder.encode(`${what} ${getField(lease.payload, "jid")} ${lease.group} ${systemClock.now()}\n`),
  );

await using store = await openStore(url);
async function beat(): Promise<boolean> {
  const sent = systemClock.now();
  const { lapsed } = await store.workers.heartbeat(workerRecord(worker), Number(ttl));
  if (!lapsed) Deno.stdout.writeSync(encoder.encode(`beat - - ${sent}\n`));
  return lapsed;
}
await beat();
void (async () => {
  for (;;) {
    await systemClock.sleep(Number(ttl) / 5);
    // A worker whose heartbeat has lapsed stops, because its jobs may have been rescued.
    if (await beat()) Deno.exit(3);
    await store.jobs.rescue({ worker, limit: 100, maxRescues: 1_000 });
  }
})();
let running = 0;
for (;;) {
  const leases = await store.jobs.take({ queues: ["default"], limit: 5 - running, worker });
  for (const lease of leases) {
    running++;
    void (async () => {
      note("start", lease);
      await systemClock.sleep(20 + Math.random() * 60);
      note("end", lease);
      await store.jobs.settle(worker, [{ kind: "ack", token: lease.token }]);
      running--;
    })();
  }
  await systemClock.sleep(leases.length > 0 || running > 0 ? 3 : 20);
}
