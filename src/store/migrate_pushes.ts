/**
 * Programs that push to a store while it is migrated. Nothing is lost, but the migration ends with an error: what such a
 * program pushes next would stay in a store that has no workers.
 *
 * @module
 */
import { getField } from "../job/raw.ts";
import type { Entry } from "./admin/admin.ts";
import type { Store } from "./admin/store.ts";
import { MigrateError } from "./migrate_checks.ts";

/** Returns the error of a migration that is complete but for what is pushed now. */
export function pushedMeanwhile(url: string): MigrateError {
  return new MigrateError(
    `Programs pushed to "${url}" while it was migrated: stop them, then run this again; no job is lost`,
  );
}

/** Returns the error of a migration that stopped at jobs which are no longer what it read. */
export function changedMeanwhile(url: string, count: number): MigrateError {
  return new MigrateError(
    `Migration stopped: ${count} jobs of "${url}" were removed or replaced meanwhile; stop the programs that use it, ` +
      "then run this again",
  );
}

/**
 * Deletes at the target the jobs that a push has replaced at the source since they were read: the source has the new ones,
 * under the same jids, and they are migrated next.
 */
export async function withdrawReplaced(
  from: Store,
  to: Store,
  entries: readonly Pick<Entry, "payload">[],
): Promise<void> {
  const read = new Map(entries.flatMap(({ payload }) => {
    const jid = /"(on_duplicate|debounce_key)"/.test(payload) && getField(payload, "jid");
    return typeof jid === "string" ? [[jid, payload.trimEnd()]] : [];
  }));
  if (read.size === 0) return;
  const versions = (found: readonly Entry[], isRead: boolean) =>
    found.filter(({ payload }) => (read.get(getField(payload, "jid") as string) === payload.trimEnd()) === isRead);
  const replaced = versions(await from.admin.find([...read.keys()]), false);
  const jids = replaced.map(({ payload }) => getField(payload, "jid") as string);
  const copies = versions(await to.admin.find(jids), true).filter(({ place }) => place.in !== "running");
  await to.admin.edit(copies.map(({ ref }) => ref), "delete");
}
