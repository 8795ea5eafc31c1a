/**
 * Jobs aside: a worker took them and lacks their class, so they wait in their queue for a worker that has it. Each class of a
 * queue has such a place, stored like a group with a reserved name (`store/port/groups.ts`). One of jobs that belong to a group
 * or have a priority also names that group, whose limit and pause apply to them.
 *
 * @module
 */
import { isGroup } from "./group.ts";
import { priorityIn } from "./priority.ts";

/** No group has a name that begins with it: see `priority.ts`. `redis/lua/asides.lua` and the SQL of the stores have it, too. */
export const ASIDE_MARK = "|@";

/** A longer class has no place aside: PostgreSQL limits the length of an indexed name. */
export const MAX_ASIDE_CLASS_CHARS = 300;

/** A place aside. */
export interface Aside {
  readonly class: string;
  /** The group of its jobs; absent if they have none. */
  readonly group?: string;
}

/** Returns a class as the name of a place aside contains it. */
export function asideClass(name: string): string {
  return escape(name).replaceAll("|", "%7c");
}

/** Returns the group as which the jobs of a class are stored that wait aside. */
export function asideOf({ class: name, group }: Aside): string {
  return `${ASIDE_MARK}${asideClass(name)}${group === undefined ? "" : `|${escape(group)}`}`;
}

/** Returns the place aside that is stored as this group; undefined for other groups. */
export function asideIn(group: string): Aside | undefined {
  if (!group.startsWith(ASIDE_MARK)) return undefined;
  const end = group.indexOf("|", ASIDE_MARK.length);
  const encoded = group.slice(ASIDE_MARK.length, end < 0 ? undefined : end);
  return { class: unescape(encoded), ...(end >= 0 && { group: unescape(group.slice(end + 1)) }) };
}

/** Returns whether jobs of a queue may be stored under this name: that of a group, of a priority, or of a place aside. */
export function isStoredGroup(name: unknown): name is string {
  return isGroup(name) || typeof name === "string" && (priorityIn(name) ?? asideIn(name)) !== undefined;
}

/** The driver of SQLite cuts a text at a NUL. */
function escape(name: string): string {
  return name.replaceAll("%", "%25").replaceAll("\0", "%00");
}

function unescape(name: string): string {
  return name.replace(/%(25|7c|00)/g, (_, code) => String.fromCharCode(parseInt(code, 16)));
}
