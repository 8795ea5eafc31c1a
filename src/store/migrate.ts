/**
 * Moves everything from one store to another: queues in their order, `scheduled`, `retry` and `dead`, which queues are
 * paused or limited, and the crontab with what is remembered of it. It can be stopped or killed at any moment and run
 * again, and then no job is lost and none is there twice:
 *
 *  1. The source announces a batch: which entries, under an id that no other batch has.
 *  2. The batch comes into the target in one step that remembers its id. Then the source deletes its entries and ends the
 *     batch in one step. Then the target forgets the id. Run again after a break, the move continues with the announced
 *     batch: a target that remembers it leaves it out.
 *  3. A queue that is paused or limited is so at the target first, and no longer at the source when all jobs are moved.
 *  4. A batch is copied with its counters before the jobs move, which count nothing on the way: a member that ends at the
 *     target finds it. It is removed from the source at the end.
 *  5. A crontab entry is written to the target if it has none of that name, then removed from the source.
 *
 * Nobody may be performing jobs of the source meanwhile: that is checked before every batch. Whoever still pushes to it
 * is moved after: it goes on until nothing is left. The running totals, what is kept of ended jobs, and signals that no job
 * waits for yet stay behind.
 *
 * @module
 */
import { queuePlaces } from "./ops/queue_places.ts";
import { getField } from "../job/raw.ts";
import { STEPS_FIELD } from "../job/step.ts";
import type { Entry } from "./admin/admin.ts";
import { ByteBudget } from "./port/batch_bytes.ts";
import { MAX_CRON_RECORDS } from "./port/cron.ts";
import type { ImportedJob, MigrationBatch } from "./admin/migration.ts";
import type { Store } from "./admin/store.ts";

/** Why a move cannot be, or cannot go on. */
export class MigrateError extends Error {
  override readonly name = "MigrateError";
}

/** How far a move is. */
export interface MigrateProgress {
  /** Jobs moved so far by this run. */
  readonly moved: number;
  /** Jobs there were at the start; more if some came in. */
  readonly total: number;
}

/** How to move. */
export interface MigrateOptions {
  /** Told after each batch. */
  readonly onProgress?: (progress: MigrateProgress) => void;
  /** Stops after the batch under way; the rest stays where it is. */
  readonly signal?: AbortSignal;
}

/** What was moved. */
export interface MigrateResult {
  /** Jobs. */
  readonly jobs: number;
  /** Entries of the crontab. */
  readonly cron: number;
}

const BATCH = 500;
/** Jobs of the first batch of a place, whose payloads may be of any size. The next ones are larger. */
const FIRST_BATCH = 50;

type JobPlace = ImportedJob["place"];

/**
 * Moves everything from `from` to `to`.
 *
 * @throws {MigrateError} when both are one store, or somebody performs jobs of the source
 * @throws {StoreError} when a store cannot do its part
 * @throws the signal's reason when it aborts
 */
export async function migrateStore(
  from: Store,
  to: Store,
  options: MigrateOptions = {},
): Promise<MigrateResult> {
  await refuseSame(from, to);
  await refuseWhileBusy(from);
  const { enqueued, scheduled, retry, dead } = await from.admin.stats();
  let total = enqueued + scheduled + retry + dead;
  let jobs = 0;
  const onMoved = (count: number) => {
    jobs += count;
    total = Math.max(total, jobs);
    options.onProgress?.({ moved: jobs, total });
  };
  await copyBatches(from, to);
  const done: Closed = { paused: new Set(), limited: new Set() };
  for (let before = -1; before < jobs;) {
    before = jobs;
    const places = await placesOf(from, to, done);
    const announced = await from.migration.announced();
    if (announced !== undefined) onMoved(await moveAnnounced(from, to, announced));
    for (const place of places) {
      await movePlace(from, to, { place, onMoved, signal: options.signal });
    }
  }
  for (const queue of done.paused) await from.admin.pause(queue, 0);
  for (const queue of done.limited) await from.admin.limit(queue, {});
  await removeBatches(from, to);
  return { jobs, cron: await moveCron(from, to, options.signal) };
}

/** @throws {MigrateError} when both are one store, whatever their addresses: its jobs would be moved to itself for ever */
async function refuseSame(from: Store, to: Store): Promise<void> {
  const key = `same-${crypto.randomUUID()}`;
  await to.migration.rememberKey(key);
  const isSame = await from.migration.hasKey(key);
  await to.migration.forgetKey(key);
  if (isSame) throw sameStore(from.url, to.url);
}

/** What is said when the addresses of both sides lead to one store. */
export function sameStore(from: string, to: string): MigrateError {
  return new MigrateError(`"${from}" and "${to}" are one and the same store; wanted: two`);
}

/** Queues that were paused or limited at the source, and now are at the target. */
interface Closed {
  readonly paused: Set<string>;
  readonly limited: Set<string>;
}

/**
 * Where jobs can be. What is paused or limited there is so here first, once: it may be resumed here while the move goes
 * on. A queue that is limited here already stays as it is.
 */
async function placesOf(from: Store, to: Store, done: Closed): Promise<JobPlace[]> {
  const places: JobPlace[] = [{ in: "scheduled" }, { in: "retry" }, { in: "dead" }];
  for (const { name, paused, pausedForMs, limit } of (await from.admin.stats()).queues) {
    if (paused && !done.paused.has(name)) await to.admin.pause(name, pausedForMs);
    if (paused) done.paused.add(name);
    if (limit && !done.limited.has(name) && !await isLimited(to, name)) await to.admin.limit(name, limit);
    if (limit) done.limited.add(name);
    places.push(...await queuePlaces(from.admin, name));
  }
  return places;
}

async function isLimited(store: Store, queue: string): Promise<boolean> {
  return (await store.admin.stats()).queues.some(({ name, limit }) => name === queue && limit !== undefined);
}

interface PlaceMove {
  readonly place: JobPlace;
  readonly onMoved: (count: number) => void;
  readonly signal: AbortSignal | undefined;
}

async function movePlace(from: Store, to: Store, { place, onMoved, signal }: PlaceMove): Promise<void> {
  for (let limit = FIRST_BATCH;;) {
    signal?.throwIfAborted();
    const { entries } = await from.admin.page(place, { limit });
    if (entries.length === 0) return;
    await refuseWhileBusy(from);
    const some = entries.slice(0, countFitting(entries));
    const batch = await from.migration.announce(some.map((entry) => entry.ref));
    // Another move of this store has announced a batch since: it is moved with it.
    const isOurs = batch.refs.length === some.length && some.every((entry, i) => entry.ref === batch.refs[i]);
    const gone = isOurs ? await moveBatch(from, to, { batch, entries: some }) : await moveAnnounced(from, to, batch);
    onMoved(gone);
    if (gone < batch.refs.length) {
      throw new MigrateError(
        `Cannot move on: ${
          batch.refs.length - gone
        } jobs were taken out of "${from.url}" while they were moved; stop ` +
          "whoever uses it, then run this again",
      );
    }
    limit = some.length < entries.length ? some.length : Math.min(2 * limit, BATCH);
  }
}

interface BatchMove {
  readonly batch: MigrationBatch;
  /** What it consists of. */
  readonly entries: readonly Entry[];
}

/** Moves an announced batch. Returns how many of its entries the source had. */
async function moveBatch(from: Store, to: Store, { batch, entries }: BatchMove): Promise<number> {
  if (!await to.migration.hasKey(batch.id)) await moveSteps(from, to, entries);
  await to.migration.importJobs(batch.id, entries.map(toAdopt));
  const gone = await from.migration.removeAnnounced(batch);
  await to.migration.forgetKey(batch.id);
  return gone;
}

/**
 * Copies the steps of jobs, before the jobs: a job that arrives without them would do everything again. The source deletes
 * them with its jobs.
 */
async function moveSteps(from: Store, to: Store, entries: readonly Entry[]): Promise<void> {
  for (const { place, payload, at } of entries) {
    if (!payload.includes(`"${STEPS_FIELD}"`)) continue;
    const jid = getField(payload, "jid");
    if (typeof jid !== "string") continue;
    const steps = await from.steps.read(jid);
    if (steps.length > 0) await to.migration.importSteps(jid, steps, place.in === "scheduled" ? at : undefined);
  }
}

/** Moves a batch that a move announced and did not finish. */
async function moveAnnounced(from: Store, to: Store, batch: MigrationBatch): Promise<number> {
  const entries: Entry[] = [];
  for (const ref of batch.refs) {
    const entry = await from.admin.get(ref);
    if (entry !== undefined) entries.push(entry);
  }
  return await moveBatch(from, to, { batch, entries });
}

/** How many of the entries, from the first on, go in one batch; at least one. */
function countFitting(entries: readonly Entry[]): number {
  const budget = new ByteBudget();
  const over = entries.findIndex(({ payload }) => !budget.spend(payload));
  return over < 0 ? entries.length : over;
}

function toAdopt({ place, payload, at }: Entry): ImportedJob {
  const unique = place.in === "dead" ? undefined : releasesOf(payload);
  return { place: place as JobPlace, payload, ...(at !== undefined && { at }), ...(unique && { unique }) };
}

/** The unique lock that a job has as its payload tells; for its whole time from now on, for want of knowing better. */
function releasesOf(payload: string): ImportedJob["unique"] {
  const key = getField(payload, "unique_key");
  const seconds = getField(payload, "unique_for");
  const jid = getField(payload, "jid");
  if (typeof key !== "string" || typeof seconds !== "number" || typeof jid !== "string") return undefined;
  return { key, jid, ttlMs: seconds * 1_000 };
}

/** Copies the batches, before their members: what the target has already, it keeps. */
async function copyBatches(from: Store, to: Store): Promise<void> {
  for await (const id of batchIds(from)) {
    const text = await from.batches.exportBatch(id);
    if (text !== undefined) await to.batches.importBatch(text);
  }
}

/** Removes the batches that the target has. One opened since the copy is copied first; its members have moved. */
async function removeBatches(from: Store, to: Store): Promise<void> {
  await copyBatches(from, to);
  const ids: string[] = [];
  for await (const id of batchIds(from)) ids.push(id);
  for (const id of ids) await from.batches.remove(id);
}

async function* batchIds(store: Store): AsyncGenerator<string> {
  for (let cursor: string | undefined;;) {
    const { batches, next } = await store.batches.page({ limit: BATCH, ...(cursor !== undefined && { cursor }) });
    for (const { id } of batches) yield id;
    if ((cursor = next) === undefined) return;
  }
}

async function moveCron(from: Store, to: Store, signal: AbortSignal | undefined): Promise<number> {
  let count = 0;
  for (const { name, version, definition, state } of (await from.cron.read()).entries) {
    signal?.throwIfAborted();
    if ((await to.cron.read({ names: [name] })).entries.length === 0) {
      const records = (await from.cron.history(name, MAX_CRON_RECORDS)).reverse();
      await to.cron.write([{ name, version: 0, definition, state, jobs: [], awaited: false, records }]);
    }
    if (!await from.cron.remove(name, version)) {
      throw new MigrateError(
        `Cannot move the crontab entry "${name}": it changed meanwhile; stop whoever uses "${from.url}", then run this again`,
      );
    }
    count++;
  }
  return count;
}

/** @throws {MigrateError} when somebody performs jobs of this store, or has some that would be missing */
async function refuseWhileBusy(store: Store): Promise<void> {
  const { processes, leased } = await store.admin.stats();
  if (processes > 0) {
    const names = (await store.workers.list()).filter((process) => process.alive).map((process) => process.identity);
    throw new MigrateError(
      `Cannot move from "${store.url}" while processes work there: stop ${names.join(", ")} first`,
    );
  }
  if (leased === 0) return;
  // All workers are offline here: their jobs go back to the queues first.
  const owners = new Set<string>();
  for (let cursor: string | undefined;;) {
    const { entries, next } = await store.admin.page({ in: "leased" }, { limit: BATCH, ...(cursor && { cursor }) });
    for (const { owner } of entries) owners.add(owner!);
    if ((cursor = next) === undefined) break;
  }
  for (const owner of owners) await store.workers.deregister(owner);
  const left = (await store.admin.stats()).leased;
  if (left > 0) {
    throw new MigrateError(`Cannot move from "${store.url}": ${left} jobs are running there, wait for their end`);
  }
}
