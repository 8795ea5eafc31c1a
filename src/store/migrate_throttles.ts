/**
 * Migrates throttles and the keys of idempotent pushes, so that a push right after the migration is refused, or recognized as
 * repeated, as before it. A throttle with pushes at the target keeps those, and so does a key.
 *
 * @module
 */
import type { Store } from "./admin/store.ts";
import type { ThrottleRow } from "./admin/transfer.ts";

/** A step stores at most this many pushes of throttles, or one throttle (of at most 10,000 pushes); and this many keys. */
const MAX_PUSHES = 1_000;

/** Migrates all rows of a kind. */
export async function migrateRows(from: Store, to: Store, kind: "throttle" | "once"): Promise<void> {
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
