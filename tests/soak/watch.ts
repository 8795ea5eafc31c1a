/**
 * Watches a soak from outside, to find the cause of a finding: late heartbeats, and a machine that is late
 * itself. The account doesn't use it.
 *
 * @module
 */
import { pause, uptime } from "./uptime.ts";
import type { Store } from "../../src/store/admin/store.ts";

const POLL_INTERVAL_MS = 250;
/** A heartbeat this old, or a look this late, is written down. */
const LATE_MS = 1_200;

/** Writes down what is late until `signal` aborts. */
export async function watch(store: Store, file: string, signal: AbortSignal): Promise<void> {
  using log = await Deno.open(file, { append: true, create: true });
  const note = (line: string) => void log.writeSync(new TextEncoder().encode(`${uptime()} ${line}\n`));
  const silent = new Map<string, number>();
  for (let last = uptime(); !signal.aborted; last = uptime()) {
    await pause(POLL_INTERVAL_MS, signal);
    const now = uptime();
    if (now - last > LATE_MS) note(`the soak itself stood still for ${now - last} ms`);
    const workers = await store.workers.list().catch(() => []);
    // The store's time is that of the latest heartbeat, more or less.
    const latest = Math.max(...workers.map(({ heartbeatAt }) => heartbeatAt));
    for (const { id, heartbeatAt } of workers) {
      if (latest - heartbeatAt > LATE_MS) silent.set(id, latest - heartbeatAt);
    }
    for (const [id, ms] of silent) {
      const heartbeatAt = workers.find((one) => one.id === id)?.heartbeatAt;
      if (heartbeatAt !== undefined && latest - heartbeatAt > LATE_MS) continue;
      note(`${id} was silent for ${ms} ms${heartbeatAt === undefined ? ", and is gone" : ""}`);
      silent.delete(id);
    }
  }
}
