/**
 * Migrates throttles and the keys of idempotent pushes, so that a push right after the migration is refused, or recognized as
 * repeated, as before it. A throttle with pushes at the target keeps those, and so does a key.
 *
 * @module
 */
import type { ThrottleState } from "./admin/migration.ts";
import type { Store } from "./admin/store.ts";

/** Pushes of one step; a throttle has at most 10,000. */
const MAX_PUSHES = 1_000;

/** Keys of one step. */
const MAX_KEYS = 500;

/** Migrates all throttles. */
export async function migrateThrottles(from: Store, to: Store): Promise<void> {
  for (let cursor: string | undefined;;) {
    const { throttles, next } = await from.migration.throttles(cursor);
    for (const some of inSteps(throttles)) {
      await to.migration.importThrottles(some);
      await from.migration.removeThrottles(some.map(({ key }) => key));
    }
    if ((cursor = next) === undefined) return;
  }
}

function* inSteps(throttles: readonly ThrottleState[]): Generator<readonly ThrottleState[]> {
  let some: ThrottleState[] = [];
  let pushes = 0;
  for (const throttle of throttles) {
    some.push(throttle);
    pushes += throttle.pushes.length;
    if (pushes < MAX_PUSHES) continue;
    yield some;
    some = [];
    pushes = 0;
  }
  if (some.length > 0) yield some;
}

/** Migrates all keys of idempotent pushes. */
export async function migrateOnceKeys(from: Store, to: Store): Promise<void> {
  for (let cursor: string | undefined;;) {
    const { keys, next } = await from.migration.onceKeys(cursor);
    for (let i = 0; i < keys.length; i += MAX_KEYS) {
      const some = keys.slice(i, i + MAX_KEYS);
      await to.migration.importOnceKeys(some);
      await from.migration.removeOnceKeys(some.map(({ key }) => key));
    }
    if ((cursor = next) === undefined) return;
  }
}
