/**
 * Migrates everything from one store to another: queues in their order, `scheduled`, `retry` and `dead`, pauses and limits of
 * queues and groups, throttles, keys of idempotent pushes, and cron entries with their state. A migration can be stopped or killed at any moment and run again. Then no job is
 * lost, and none exists twice:
 *
 *  1. The source announces a batch of entries under a unique ID.
 *  2. The target imports the batch in one step that remembers its ID. Then the source deletes the entries and ends the batch
 *     in one step. Then the target forgets the ID. A migration that runs again continues with the announced batch, and a
 *     target that remembers it skips the import.
 *  3. A paused or limited queue or group is paused or limited at the target first. The source's pauses and limits end when all
 *     jobs are migrated.
 *  4. Batches of jobs are copied with their counters before their members, whose migration changes no counter: a member that
 *     ends at the target finds its batch. The source's batches are removed at the end.
 *  5. A cron entry is written to the target if that has none of the name, then removed from the source.
 *
 * No worker may perform jobs of the source meanwhile: that is checked before each batch. No program may push to it either. One
 * that does loses nothing, and the migration ends with an error: see `migrate_pushes.ts`. Totals, records of ended jobs, and signals that no
 * job waits for stay in the source.
 *
 * @module
 */
import { copyBatches, removeBatches } from "./migrate_batches.ts";
import { type CopiedSettings, copySettings, endSettings } from "./migrate_queues.ts";
import { migrateRows } from "./migrate_throttles.ts";
import { queuePlaces } from "./ops/queue_places.ts";
import { getField } from "../job/raw.ts";
import { STEPS_FIELD } from "../job/step.ts";
import { ByteBudget } from "./port/batch_bytes.ts";
import { MAX_CRON_RECORDS } from "./port/logs.ts";
import type { Store } from "./admin/store.ts";
import type { AnnouncedBatch, JobRow } from "./admin/transfer.ts";
import { MigrateError, refuseSame, refuseWhileBusy } from "./migrate_checks.ts";
import { changedMeanwhile, pushedMeanwhile, withdrawReplaced } from "./migrate_pushes.ts";

/** The progress of a migration. */
export interface MigrateProgress {
  /** Jobs migrated so far by this run. */
  readonly moved: number;
  /** Jobs at the start; more if clients pushed some since. */
  readonly total: number;
}

/** Options of a migration. */
export interface MigrateOptions {
  /** Called after each batch. */
  readonly onProgress?: (progress: MigrateProgress) => void;
  /** Stops after the current batch. The rest stays in the source. */
  readonly signal?: AbortSignal;
}

/** The result of a migration. */
export interface MigrateResult {
  /** Number of migrated jobs. */
  readonly jobs: number;
  /** Number of migrated cron entries. */
  readonly cron: number;
}

const BATCH = 500;
/** Places are read again for jobs that were pushed meanwhile, this often at most. */
const MAX_PASSES = 5;
/** Jobs of the first batch of a place, when the sizes of payloads are unknown. The next ones are larger. */
const FIRST_BATCH = 50;

type JobPlace = JobRow["place"];

/**
 * Migrates everything from `from` to `to`.
 *
 * @throws {MigrateError} if both are the same store, or a worker performs jobs of the source
 * @throws {StoreError} if a store fails
 * @throws the signal's reason if it aborts
 */
export async function migrateStore(
  from: Store,
  to: Store,
  options: MigrateOptions = {},
): Promise<MigrateResult> {
  await refuseSame(from, to);
  await refuseWhileBusy(from);
  const copied = await copyBatches(from, to);
  const atStart = await jobsIn(from);
  let total = atStart;
  let jobs = 0;
  const onMigrated = (count: number) => {
    jobs += count;
    total = Math.max(total, jobs);
    options.onProgress?.({ moved: jobs, total });
  };
  const done: CopiedSettings = { paused: new Set(), limited: new Set(), grouped: new Set() };
  let before = -1;
  for (let passes = 0; before < jobs && passes < MAX_PASSES; passes++) {
    before = jobs;
    const places = await placesOf(from, to, done);
    const announced = await from.transfer.mark([]);
    if (announced !== undefined) onMigrated(await migrateBatch(from, to, announced));
    for (const place of places) {
      await migratePlace(from, to, { place, onMigrated, signal: options.signal });
    }
  }
  await migrateRows(from, to, "throttle");
  await migrateRows(from, to, "once");
  await endSettings(from, done);
  const hasChanged = await removeBatches(from, to, copied);
  const cron = await migrateCron(from, to, options.signal);
  if (hasChanged || jobs > atStart || await jobsIn(from) > 0) throw pushedMeanwhile(from.url);
  return { jobs, cron };
}

async function jobsIn(store: Store): Promise<number> {
  const { enqueued, scheduled, retry, dead } = await store.admin.stats();
  return enqueued + scheduled + retry + dead;
}

/** Returns the places of jobs. Copies pauses and limits to the target first. */
async function placesOf(from: Store, to: Store, done: CopiedSettings): Promise<JobPlace[]> {
  const places: JobPlace[] = [{ in: "scheduled" }, { in: "retry" }, { in: "dead" }];
  for (const queue of (await from.admin.stats()).queues) {
    await copySettings(from, to, queue, done);
    places.push(...await queuePlaces(from.admin, queue.name));
  }
  return places;
}

interface PlaceMigration {
  readonly place: JobPlace;
  readonly onMigrated: (count: number) => void;
  readonly signal: AbortSignal | undefined;
}

async function migratePlace(from: Store, to: Store, { place, onMigrated, signal }: PlaceMigration): Promise<void> {
  for (let limit = FIRST_BATCH;;) {
    signal?.throwIfAborted();
    const { entries } = await from.admin.page(place, { limit });
    if (entries.length === 0) return;
    await refuseWhileBusy(from);
    const count = countFitting(entries);
    // Another migration of this store may have announced a batch since: this continues with that one.
    const batch = (await from.transfer.mark(entries.slice(0, count).map((entry) => entry.ref)))!;
    const removed = await migrateBatch(from, to, batch);
    onMigrated(removed);
    if (removed < batch.refs.length) throw changedMeanwhile(from.url, batch.refs.length - removed);
    limit = count < entries.length ? count : Math.min(2 * limit, BATCH);
  }
}

/** Migrates an announced batch. Returns how many of its jobs the source had. */
async function migrateBatch(from: Store, to: Store, { id, refs }: AnnouncedBatch): Promise<number> {
  const { rows } = await from.transfer.read("job", { ids: refs });
  const isStored = (await to.transfer.read("key", { ids: [id] })).rows.length > 0;
  if (!isStored) {
    await copySteps(from, to, rows);
    await to.transfer.put("job", rows.map(withLock), id);
  }
  const removed = await from.transfer.drop("job", rows, id);
  if (removed < rows.length) await withdrawReplaced(from, to, rows);
  await to.transfer.drop("key", [{ key: id }]);
  return removed;
}

/**
 * Copies the steps of jobs before the jobs: a job without its steps would repeat them. The source deletes them with its jobs.
 * A child brings the steps of its parent, so that it can end at the target before the parent arrives: the end of a child needs
 * the wait of the parent, not the parent.
 */
async function copySteps(from: Store, to: Store, rows: readonly JobRow[]): Promise<void> {
  const jids = new Set(rows.flatMap(({ payload }) => [
    ...(payload.includes(`"${STEPS_FIELD}"`) ? [getField(payload, "jid")] : []),
    ...(payload.includes('"parent"') ? [(getField(payload, "parent") as { jid?: unknown } | null)?.jid] : []),
  ]));
  for (const jid of jids) {
    if (typeof jid !== "string") continue;
    const steps = await from.steps.read(jid);
    if (steps.length > 0) await to.transfer.put("step", [{ jid, steps }]);
  }
}

/** Returns how many of the first entries fit in one batch; at least one. */
function countFitting(entries: readonly { readonly payload: string }[]): number {
  const budget = new ByteBudget();
  const over = entries.findIndex(({ payload }) => !budget.spend(payload));
  return over < 0 ? entries.length : over;
}

/**
 * Returns a job with the unique lock in its payload, with its full TTL: the remaining time is unknown. A retrying job whose lock
 * ended at its start has none, and neither has a dead one.
 */
function withLock(row: JobRow): JobRow {
  const { payload, place: { in: place } } = row;
  const key = getField(payload, "unique_key");
  const seconds = getField(payload, "unique_for");
  const jid = getField(payload, "jid");
  if (typeof key !== "string" || typeof seconds !== "number" || typeof jid !== "string") return row;
  if (place === "dead" || place === "retry" && getField(payload, "unique_until") === "start") return row;
  return { ...row, unique: { key, jid, ttlMs: seconds * 1_000 } };
}

async function migrateCron(from: Store, to: Store, signal: AbortSignal | undefined): Promise<number> {
  let count = 0;
  for (const { name, version, definition, state } of (await from.cron.read()).entries) {
    signal?.throwIfAborted();
    if ((await to.cron.read({ names: [name] })).entries.length === 0) {
      const { entries } = await from.logs.page(`cron:${name}`, { limit: MAX_CRON_RECORDS });
      const records = entries.map(({ text }) => text).reverse();
      await to.cron.write([{ name, version: 0, definition, state, jobs: [], awaited: false, records }]);
    }
    const [removed] = await from.cron.write([{ name, version, remove: true }]);
    if (removed === undefined) {
      throw new MigrateError(
        `Cron entry "${name}" not migrated: it changed meanwhile; stop the programs that use "${from.url}", then run this again`,
      );
    }
    count++;
  }
  return count;
}
