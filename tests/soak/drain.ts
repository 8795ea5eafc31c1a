/**
 * The end of a soak: the load has stopped, and everything has to end.
 *
 * @module
 */
import type { Place } from "../../src/store/port/entries.ts";
import { insist } from "./insist.ts";
import { pause, uptime } from "./uptime.ts";
import type { Store } from "../../src/store/admin/store.ts";

/** Jobs that have not become fewer for this long are stuck. */
const STUCK_MS = 45_000;
const POLL_INTERVAL_MS = 200;
const PAGE = 1_000;

/** The result of a drain. */
export interface Drain {
  /** Jobs that were queued, scheduled, retrying or running when it began. */
  readonly jobs: number;
  readonly ms: number;
}

/** Waits until no job is queued, scheduled, retrying or running, or until their number stops falling. */
export async function drain(store: Store): Promise<Drain> {
  const start = uptime();
  let jobs: number | undefined;
  let least = Infinity;
  let since = start;
  while (uptime() - since < STUCK_MS) {
    const { enqueued, scheduled, retry, running } = await insist(() => store.admin.stats());
    const left = enqueued + scheduled + retry + running;
    jobs ??= left;
    if (left === 0) break;
    if (left < least) [least, since] = [left, uptime()];
    await pause(POLL_INTERVAL_MS);
  }
  return { jobs: jobs ?? 0, ms: uptime() - start };
}

/** Returns the jids of the jobs that are in the store: those in `dead`, and all others. */
export async function jidsIn(store: Store): Promise<{ readonly dead: string[]; readonly left: string[] }> {
  const queues = (await store.admin.stats()).queues.map(({ name }): Place => ({ in: "queue", queue: name }));
  const left: string[] = [];
  for (const place of [...queues, { in: "scheduled" }, { in: "retry" }, { in: "running" }] as const) {
    left.push(...await jidsAt(store, place));
  }
  return { dead: await jidsAt(store, { in: "dead" }), left };
}

async function jidsAt(store: Store, place: Place): Promise<string[]> {
  const jids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.admin.page(place, { limit: PAGE, ...(cursor !== undefined && { cursor }) });
    jids.push(...page.entries.flatMap(({ payload }) => jidOf(payload) ?? []));
    cursor = page.next;
  } while (cursor !== undefined);
  return jids;
}

/** Returns the jid; undefined for a payload of another program without one. */
function jidOf(payload: string): string | undefined {
  try {
    const jid = JSON.parse(payload)?.jid;
    return typeof jid === "string" ? jid : undefined;
  } catch {
    return undefined;
  }
}
