/**
 * Migrates cron entries with their state and their history, after the jobs. An entry whose runs depend on the end of its previous
 * job still waits for that job at the target, unless the job has ended there meanwhile: a wait for a job that has ended would not end.
 *
 * @module
 */
import { getField } from "../../../job/raw.ts";
import type { Store } from "../../admin/store.ts";
import { type CronWrite, MAX_CRON_PAGE, type StoredCron } from "../../port/cron.ts";
import { MAX_CRON_RECORDS } from "../../port/logs.ts";
import { MigrateError } from "./refusals.ts";

/** Cron entries that are migrated at once. */
const PER_STEP = 100;

/** The job of the latest run of an entry, on whose end later runs depend. */
export interface PreviousRun {
  /** The job. It may have ended. */
  readonly jid: string;
  /** Whether a run waits for its end. */
  readonly isAwaited: boolean;
}

/** Reads the previous run of a stored entry; undefined if later runs don't depend on it. */
export type ReadPreviousRun = (stored: Pick<StoredCron, "name" | "definition" | "state">) => PreviousRun | undefined;

/** The previous runs of entries. */
interface PreviousRuns {
  /** By the name of the entry. */
  readonly byName: ReadonlyMap<string, PreviousRun>;
  /** The jobs of those that are in the target. */
  readonly unfinished: Set<string>;
}

/**
 * Migrates cron entries.
 *
 * @returns how many
 * @throws {MigrateError} if a program has changed one meanwhile
 */
export async function migrateCron(
  from: Store,
  to: Store,
  { signal, previousRunOf }: { readonly signal: AbortSignal | undefined; readonly previousRunOf: ReadPreviousRun },
): Promise<number> {
  const byName = await previousRuns(from, previousRunOf);
  // A search of all jobs on Redis: one for all entries.
  const previous = { byName, unfinished: await unfinishedOf(to, Array.from(byName.values(), ({ jid }) => jid)) };
  for (let count = 0;;) {
    signal?.throwIfAborted();
    // Those of the page before have left the source.
    const { entries } = await from.cron.page({ limit: PER_STEP });
    if (entries.length === 0) return count;
    await putCopies(to, await Promise.all(entries.map((entry) => copyOf(from, entry))), previous);
    const removed = await from.cron.write(entries.map(({ name, version }) => ({ name, version, remove: true })));
    const changed = entries.find((_, i) => removed[i] === undefined);
    if (changed !== undefined) {
      throw new MigrateError(
        `Cron entry "${changed.name}" not migrated: it changed meanwhile; stop the programs that use "${from.url}", then run this again`,
      );
    }
    count += entries.length;
  }
}

/** Returns the previous runs of all entries. The source no longer has their jobs. */
async function previousRuns(from: Store, previousRunOf: ReadPreviousRun): Promise<ReadonlyMap<string, PreviousRun>> {
  const runs = new Map<string, PreviousRun>();
  for (let cursor: string | undefined;;) {
    const { entries, next } = await from.cron.page({ limit: MAX_CRON_PAGE, ...(cursor !== undefined && { cursor }) });
    for (const stored of entries) {
      const run = previousRunOf(stored);
      if (run !== undefined) runs.set(stored.name, run);
    }
    if ((cursor = next) === undefined) return runs;
  }
}

async function copyOf(from: Store, { name, definition, state, shared, tags, next }: StoredCron): Promise<CronWrite> {
  const { entries } = await from.logs.page(`cron:${name}`, { limit: MAX_CRON_RECORDS });
  const records = entries.map(({ text }) => text).reverse();
  return { name, version: 0, definition, state, shared, tags, next, jobs: [], awaited: false, records };
}

/** Stores the entries that the target doesn't have. */
async function putCopies(to: Store, copies: readonly CronWrite[], { byName, unfinished }: PreviousRuns): Promise<void> {
  const names = copies.map(({ name }) => name);
  for (;;) {
    const { entries: known } = await to.cron.read(names);
    const taken = new Set(known.map(({ name }) => name));
    const missing = copies.filter(({ name }) => !taken.has(name));
    await to.cron.write(missing.map((copy) => waiting(copy, byName.get(copy.name), unfinished)));
    // A job may have ended before its entry was stored, also by a migration that was killed then.
    const { entries } = await to.cron.read(names);
    const dependent = entries.filter(({ name, live }) => live !== undefined && live === byName.get(name)?.jid);
    const left = await unfinishedOf(to, dependent.map(({ live }) => live!));
    const stale = dependent.filter(({ live }) => !left.has(live!));
    if (stale.length === 0) return;
    for (const { live } of stale) unfinished.delete(live!);
    await to.cron.write(stale.map(({ name, version }) => ({ name, version, remove: true })));
  }
}

/** Returns the write of an entry: while its previous job is unfinished, runs wait for that; otherwise a run that waits is due. */
function waiting(copy: CronWrite, previous: PreviousRun | undefined, unfinished: ReadonlySet<string>): CronWrite {
  if (previous === undefined) return copy;
  const { jid, isAwaited } = previous;
  return unfinished.has(jid) ? { ...copy, live: jid, awaited: isAwaited } : isAwaited ? { ...copy, next: 0 } : copy;
}

/** Returns those of the jobs that the store has, and that aren't dead. */
async function unfinishedOf(store: Store, jids: readonly string[]): Promise<Set<string>> {
  const found = jids.length === 0 ? [] : await store.jobs.find(jids);
  const unfinished = found.filter(({ place }) => place.in !== "dead");
  return new Set(unfinished.map(({ payload }) => getField(payload, "jid") as string));
}
