/**
 * Migrates everything from one store to another: queues in their order, `scheduled`, `retry` and `dead`, pauses and limits of
 * queues and groups, throttles, keys of idempotent pushes, and cron entries with their state. A migration can be stopped or
 * killed at any moment and run again. Then no job is lost, and none exists twice:
 *
 *  1. The source announces a batch of jobs under a unique ID.
 *  2. The target stores the batch in one step that remembers its ID. Then the source deletes the jobs and ends the batch in one
 *     step. Then the target forgets the ID. A migration that runs again continues with the announced batch, and a target that
 *     remembers it stores nothing.
 *  3. A paused or limited queue or group is paused or limited at the target first. The source's pauses and limits end when all
 *     jobs are migrated.
 *  4. Batches of jobs are copied with their counters before their members, whose migration changes no counter: a member that
 *     ends at the target finds its batch. The source's batches are removed at the end.
 *  5. A cron entry is written to the target if that has none of the name, then removed from the source (`cron.ts`).
 *
 * No worker may perform jobs of the source meanwhile: that is checked before each batch. No program may push to it either. One
 * that does loses nothing, and the migration ends with an error. Totals, records of ended jobs, and signals that no job waits for
 * stay in the source.
 *
 * @module
 */
import type { Store } from "../../admin/store.ts";
import type { JobRow, ThrottleRow } from "../../admin/transfer.ts";
import { queuePlaces } from "../queue_places.ts";
import { copyBatches, removeBatches } from "./batches.ts";
import { migrateCron, type ReadPreviousRun } from "./cron.ts";
import { migrateBatch, migratePlace } from "./jobs.ts";
import { pushedMeanwhile, refuseSame, refuseWhileBusy } from "./refusals.ts";
import { type CopiedSettings, copySettings, endSettings } from "./settings.ts";

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
  /** Reads cron entries. Default: no run depends on the end of the previous one. */
  readonly previousRunOf?: ReadPreviousRun;
}

/** The result of a migration. */
export interface MigrateResult {
  /** Number of migrated jobs. */
  readonly jobs: number;
  /** Number of migrated cron entries. */
  readonly cron: number;
  /** The totals of the source, which stay there. */
  readonly left: { readonly processed: number; readonly failed: number };
}

/** Places are read again for jobs that were pushed meanwhile, this often at most. */
const MAX_PASSES = 5;

/**
 * Migrates everything from `from` to `to`.
 *
 * @throws {MigrateError} if both are the same store, or a worker performs jobs of the source
 * @throws {StoreError} if a store fails
 * @throws the signal's reason if it aborts
 */
export async function migrateStore(from: Store, to: Store, options: MigrateOptions = {}): Promise<MigrateResult> {
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
  let continues = false;
  for (let passes = 0; before < jobs && passes < MAX_PASSES; passes++) {
    before = jobs;
    const places = await placesOf(from, to, done);
    const announced = await from.transfer.mark([]);
    if (announced !== undefined) {
      continues = true;
      onMigrated(await migrateBatch(from, to, announced, continues));
    }
    for (const place of places) await migratePlace(from, to, { place, onMigrated, signal: options.signal, continues });
  }
  await migrateRows(from, to, "throttle");
  await migrateRows(from, to, "once");
  await endSettings(from, done);
  const hasChanged = await removeBatches(from, to, copied);
  const { signal, previousRunOf = () => undefined } = options;
  const cron = await migrateCron(from, to, { signal, previousRunOf });
  if (hasChanged || jobs > atStart || await jobsIn(from) > 0) throw pushedMeanwhile(from.url);
  const { processed, failed } = await from.admin.stats();
  return { jobs, cron, left: { processed, failed } };
}

async function jobsIn(store: Store): Promise<number> {
  const { enqueued, scheduled, retry, dead } = await store.admin.stats();
  return enqueued + scheduled + retry + dead;
}

/** Returns the places of jobs. Copies pauses and limits to the target first. */
async function placesOf(from: Store, to: Store, done: CopiedSettings): Promise<JobRow["place"][]> {
  const places: JobRow["place"][] = [{ in: "scheduled" }, { in: "retry" }, { in: "dead" }];
  for (const queue of (await from.admin.stats()).queues) {
    await copySettings(from, to, queue, done);
    places.push(...await queuePlaces(from.admin, queue.name));
  }
  return places;
}

/** A step stores at most this many pushes of throttles, or one throttle (of at most 10,000 pushes); and this many keys. */
const MAX_PUSHES = 1_000;

/**
 * Migrates throttles, or the keys of idempotent pushes, so that a push right after the migration is refused, or recognized as
 * repeated, as before it.
 */
async function migrateRows(from: Store, to: Store, kind: "throttle" | "once"): Promise<void> {
  for (let cursor: string | undefined;;) {
    const { rows, next } = await from.transfer.read(kind, cursor === undefined ? {} : { cursor });
    for (const some of inSteps<(typeof rows)[number]>(rows)) {
      await to.transfer.put(kind, some);
      await from.transfer.drop(kind, some);
    }
    if ((cursor = next) === undefined) return;
  }
}

function* inSteps<Row extends Partial<ThrottleRow>>(rows: readonly Row[]): Generator<readonly Row[]> {
  let some: Row[] = [];
  let pushes = 0;
  for (const row of rows) {
    some.push(row);
    pushes += row.pushes?.length ?? 1;
    if (pushes < MAX_PUSHES) continue;
    yield some;
    some = [];
    pushes = 0;
  }
  if (some.length > 0) yield some;
}
