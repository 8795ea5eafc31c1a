/**
 * Migration of what is set for queues and their groups: pauses and limits. They are copied before the jobs of the queue, once,
 * because a queue may be resumed at the target during the migration. A queue or group that already has a limit at the target
 * keeps it.
 *
 * @module
 */
import type { QueueInfo } from "../../admin/admin.ts";
import type { Store } from "../../admin/store.ts";
import { type GroupInfo, separateLimit } from "../../port/groups.ts";

/** Names of the queues of the source whose settings were copied. */
export interface CopiedSettings {
  readonly paused: Set<string>;
  readonly limited: Set<string>;
  /** Limits and pauses of their groups. */
  readonly grouped: Set<string>;
}

/** Copies the pause and the limit of a queue, and those of its groups, unless that was done before. */
export async function copySettings(from: Store, to: Store, queue: QueueInfo, done: CopiedSettings): Promise<void> {
  const { name, paused, pausedForMs, limit, hasGroupSettings = false } = queue;
  if (paused && !done.paused.has(name)) await to.admin.configure(name, { pause: pausedForMs ?? true });
  if (paused) done.paused.add(name);
  if (limit && !done.limited.has(name) && !await isLimited(to, name)) await to.admin.configure(name, { limit });
  if (limit) done.limited.add(name);
  if (hasGroupSettings && !done.grouped.has(name)) await copyGroups(from, to, name);
  if (hasGroupSettings) done.grouped.add(name);
}

/** Removes the copied settings from the source. */
export async function endSettings(from: Store, done: CopiedSettings): Promise<void> {
  for (const queue of done.paused) await from.admin.configure(queue, { pause: false });
  for (const queue of done.limited) await from.admin.configure(queue, { limit: {} });
  for (const queue of done.grouped) {
    await from.admin.configure(queue, { eachGroup: true, limit: {} });
    for await (const { name, isOwn, paused } of groupsOf(from, queue)) {
      if (isOwn) await from.admin.configure(queue, { group: name, limit: {} });
      if (paused) await from.admin.configure(queue, { group: name, pause: false });
    }
  }
}

async function copyGroups(from: Store, to: Store, queue: string): Promise<void> {
  const [{ each }, { each: kept }] = await Promise.all([
    from.admin.groups(queue, { limit: 1 }),
    to.admin.groups(queue, { limit: 1 }),
  ]);
  if (each && !kept) await to.admin.configure(queue, { eachGroup: true, limit: each });
  for await (const info of groupsOf(from, queue)) {
    const { name: group, isOwn, paused, pausedForMs } = info;
    const [there] = (await to.admin.groups(queue, { group })).groups;
    if (isOwn && !there?.isOwn) await to.admin.configure(queue, { group, limit: separateLimit(info) });
    if (paused) await to.admin.configure(queue, { group, pause: pausedForMs ?? true });
  }
}

/** Reads the groups of a queue that have a separate limit or a pause. They may be changed meanwhile. */
async function* groupsOf({ admin }: Store, queue: string): AsyncGenerator<GroupInfo> {
  let cursor: string | undefined;
  do {
    const page = await admin.groups(queue, { isSet: true, limit: 500, ...(cursor !== undefined && { cursor }) });
    yield* page.groups;
    cursor = page.next;
  } while (cursor !== undefined);
}

async function isLimited(store: Store, queue: string): Promise<boolean> {
  return (await store.admin.stats()).queues.some(({ name, limit }) => name === queue && limit !== undefined);
}
