/**
 * Unique locks of jobs that exist no longer: another program, such as Sidekiq's page, has deleted the job and doesn't know the lock.
 * Each push with the same lock is a duplicate until the lock expires.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import { ask } from "./client/info.ts";
import type { Context } from "./context.ts";
import { readStats } from "./counts.ts";
import { find } from "./search.ts";

/** A larger store isn't searched: a check must not read millions of jobs. */
const MAX_JOBS = 100_000;
/** At most this many locks are checked, of at most {@linkcode MAX_PAGES} pages of keys. */
const MAX_LOCKS = 200;
const MAX_PAGES = 200;
const KEYS_PER_PAGE = 1_000;

/** A lock. */
export interface LostLock {
  readonly key: string;
  readonly jid: string;
}

/** Returns such locks. */
export async function lostLocks(context: Context, now: number): Promise<LostLock[]> {
  const locks = await readLocks(context, await someKeys(context), now);
  if (locks.size === 0) return [];
  const { enqueued, scheduled, retry, dead, running } = await readStats(context);
  if (enqueued + scheduled + retry + dead + running > MAX_JOBS) return [];
  const found = await jidsIn(context, locks);
  const missing = [...locks].filter(([, jid]) => !found.has(jid));
  if (missing.length === 0) return [];
  // The others may have ended, or moved, while the search ran.
  const still = await readLocks(context, missing.map(([key]) => key), now);
  const late = await jidsIn(context, still);
  return missing.flatMap(([key, jid]) => still.get(key) === jid && !late.has(jid) ? [{ key, jid }] : []);
}

/** Returns the jids of those holders that are somewhere in the store. */
async function jidsIn({ client }: Context, locks: ReadonlyMap<string, string>): Promise<ReadonlySet<unknown>> {
  const entries = await find(client, [...locks.values()]);
  return new Set(entries.map(({ payload }) => getField(payload, "jid")));
}

async function someKeys({ client }: Context): Promise<string[]> {
  const keys: string[] = [];
  let cursor = "0";
  for (let page = 0; page < MAX_PAGES && keys.length < MAX_LOCKS; page++) {
    const scan = ["SCAN", cursor, "MATCH", "jobs:unique:*", "COUNT", `${KEYS_PER_PAGE}`];
    // The user may lack the permission.
    const [next, found] = (await ask(client, scan) ?? ["0", []]) as [string, string[]];
    keys.push(...found);
    if ((cursor = next) === "0") break;
  }
  return keys.slice(0, MAX_LOCKS);
}

/** Returns the holders of the locks that count now, by key. */
async function readLocks({ client }: Context, keys: readonly string[], now: number): Promise<Map<string, string>> {
  const lines = keys.length === 0 ? [] : await client.call(["MGET", ...keys]) as (string | null)[];
  return new Map(lines.flatMap((line, i) => {
    const [, till, jid] = /^(\d+) (.*)$/s.exec(line ?? "") ?? [];
    return jid !== undefined && Number(till) > now ? [[keys[i]!, jid]] : [];
  }));
}
