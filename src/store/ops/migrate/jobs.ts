/**
 * Migration of jobs, place by place and batch by batch.
 *
 * @module
 */
import { getField } from "../../../job/raw.ts";
import { STEPS_FIELD } from "../../../job/step.ts";
import { BEGUN_FIELD } from "../../../job/time.ts";
import type { Entry } from "../../port/entries.ts";
import type { Store } from "../../admin/store.ts";
import type { AnnouncedBatch, JobRow } from "../../admin/transfer.ts";
import { changedMeanwhile, refuseWhileBusy } from "./refusals.ts";

/** Jobs of a batch. A page with large ones has fewer. */
const BATCH = 500;

/**
 * Migrates the jobs of a place.
 *
 * @param onMigrated called after each batch with its number of jobs
 * @throws {MigrateError} if a worker performs jobs of the source, or a program has changed some meanwhile
 */
export async function migratePlace(
  from: Store,
  to: Store,
  { place, onMigrated, signal, continues }: {
    readonly place: JobRow["place"];
    /** Whether an earlier migration died after it announced a batch. */
    readonly continues: boolean;
    readonly onMigrated: (count: number) => void;
    readonly signal: AbortSignal | undefined;
  },
): Promise<void> {
  for (;;) {
    signal?.throwIfAborted();
    const { entries } = await from.admin.page(place, { limit: BATCH });
    if (entries.length === 0) return;
    await refuseWhileBusy(from);
    // Another migration of this store may have announced a batch since: this continues with that one.
    const batch = (await from.transfer.mark(entries.map(({ ref }) => ref)))!;
    const removed = await migrateBatch(from, to, batch, continues);
    onMigrated(removed);
    if (removed < batch.refs.length) throw changedMeanwhile(from.url, batch.refs.length - removed);
  }
}

/** Migrates an announced batch. Returns how many of its jobs the source had. @param continues see {@linkcode migratePlace} */
export async function migrateBatch(
  from: Store,
  to: Store,
  { id, refs }: AnnouncedBatch,
  continues: boolean,
): Promise<number> {
  const { rows } = await from.transfer.read("job", { ids: refs });
  const isStored = (await to.transfer.read("key", { ids: [id] })).rows.length > 0;
  const current = continues ? await withdrawEarlier(to, rows) : rows;
  const stored = isStored ? current : rows;
  if (!isStored) {
    await copySteps(from, to, rows);
    await to.transfer.put("job", rows.map(withLock), id);
  }
  const removed = await from.transfer.drop("job", stored, id);
  if (removed < stored.length) await withdrawReplaced(from, to, stored);
  await to.transfer.drop("key", [{ key: id }]);
  return removed;
}

/**
 * Copies the steps and streams of jobs before the jobs: a job without its steps would repeat them, and readers continue its stream
 * by the numbers of its chunks. The source deletes them with its jobs. A job with a stream has the mark of one with steps. A child
 * brings the steps of its parent, so that it can end at the target before the parent arrives: the end of a child needs
 * the wait of the parent, not the parent.
 */
async function copySteps(from: Store, to: Store, rows: readonly JobRow[]): Promise<void> {
  const alive = new Set<unknown>();
  const jids = new Set<unknown>();
  for (const { payload, place } of rows) {
    const parent = payload.includes('"parent"') ? getField(payload, "parent") as { jid?: unknown } | null : undefined;
    jids.add(parent?.jid);
    if (!payload.includes(`"${STEPS_FIELD}"`)) continue;
    const jid = getField(payload, "jid");
    jids.add(jid);
    if (place.in !== "dead") alive.add(jid);
  }
  for (const jid of jids) {
    if (typeof jid !== "string") continue;
    const steps = await from.steps.read(jid);
    if (steps.length > 0) await to.transfer.put("step", [{ jid, steps, receives: alive.has(jid) }]);
    let page = await from.streams.read(jid, 0);
    while (page !== undefined && !page.ended && page.parts.length > 0) {
      await to.transfer.put("stream", [{ jid, parts: page.parts }]);
      page = await from.streams.read(jid, page.parts.at(-1)!.last);
    }
  }
}

/**
 * Returns a job with the unique lock in its payload, with its full TTL: the remaining time is unknown. A job whose lock ended at its start
 * has none once it has begun, also while it sleeps, and neither has a dead one.
 */
function withLock(row: JobRow): JobRow {
  const { payload, place: { in: place } } = row;
  const key = getField(payload, "unique_key");
  const seconds = getField(payload, "unique_for");
  const jid = getField(payload, "jid");
  if (typeof key !== "string" || typeof seconds !== "number" || typeof jid !== "string") return row;
  const hasBegun = () =>
    place === "retry" || [BEGUN_FIELD, STEPS_FIELD].some((name) => getField(payload, name) !== undefined);
  if (place === "dead" || getField(payload, "unique_until") === "start" && hasBegun()) return row;
  return { ...row, unique: { key, jid, ttlMs: seconds * 1_000 } };
}

/**
 * Deletes at the target the earlier versions of jobs that a push has replaced at the source after an earlier migration stored
 * them and died. Returns the jobs that the target can have in this version. One that it has performed by now may run a second
 * time, rather than its new version not at all.
 */
async function withdrawEarlier(to: Store, rows: readonly JobRow[]): Promise<readonly JobRow[]> {
  const versions = versionsOf(rows);
  if (versions.size === 0) return rows;
  const copies = await to.jobs.find([...versions.keys()] as string[]);
  const isSame = ({ payload }: Pick<Entry, "payload">) => versions.get(getField(payload, "jid")) === payload.trimEnd();
  const same = new Set(copies.filter(isSame).map(({ payload }) => getField(payload, "jid")));
  const earlier = copies.filter((copy) => !isSame(copy) && copy.place.in !== "running");
  await to.jobs.edit(earlier.map(({ ref }) => ref), "delete");
  return rows.filter(({ payload }) => {
    const jid = getField(payload, "jid");
    return !versions.has(jid) || same.has(jid);
  });
}

/** Returns the payloads of the jobs that a push may replace, by jid. */
function versionsOf(entries: readonly Pick<Entry, "payload">[]): Map<unknown, string> {
  return new Map(entries.flatMap(({ payload }) => {
    const jid = /"(on_duplicate|debounce_key)"/.test(payload) && getField(payload, "jid");
    return typeof jid === "string" ? [[jid, payload.trimEnd()]] : [];
  }));
}

/**
 * Deletes at the target the jobs that a push has replaced at the source since they were read: the source has the new ones,
 * under the same jids, and they are migrated next.
 */
async function withdrawReplaced(
  from: Store,
  to: Store,
  entries: readonly Pick<Entry, "payload">[],
): Promise<void> {
  const read = versionsOf(entries);
  if (read.size === 0) return;
  const versions = (found: readonly Entry[], isRead: boolean) =>
    found.filter(({ payload }) => (read.get(getField(payload, "jid")) === payload.trimEnd()) === isRead);
  const replaced = versions(await from.jobs.find([...read.keys()] as string[]), false);
  const jids = replaced.map(({ payload }) => getField(payload, "jid") as string);
  const copies = versions(await to.jobs.find(jids), true).filter(({ place }) => place.in !== "running");
  await to.jobs.edit(copies.map(({ ref }) => ref), "delete");
}
