/** Lists the limits of queues and of their groups, for `jobs limit`. @module */
import type { AdminStore, QueueInfo } from "../../store/admin/admin.ts";
import type { limitListShape } from "../../operator/shapes/queues.ts";
import type { JsonOf } from "../../operator/shapes/shape.ts";
import { type GroupInfo, type GroupLimit, separateLimit } from "../../store/port/groups.ts";
import { groupLimitText } from "../../text/groups.ts";
import { limitText, limitUse } from "../../text/limits.ts";
import { print, printFaint } from "../terminal/output.ts";
import { printTable } from "../terminal/table.ts";

/** Groups with a separate limit that are listed for each queue. */
const MAX_GROUPS = 100;

/** A queue and the limits of its groups. */
export interface ListedLimits {
  readonly queue: QueueInfo;
  /** The limit of each group without a separate one. */
  readonly each?: GroupLimit;
  /** Groups with a separate limit, at most {@linkcode MAX_GROUPS}. */
  readonly groups: readonly GroupInfo[];
  /** Whether there are more of them. */
  readonly hasMore: boolean;
}

/** Reads the limits of the groups of queues. Queues without any cost nothing. */
export async function readLimits(
  admin: Pick<AdminStore, "groups">,
  queues: readonly QueueInfo[],
): Promise<ListedLimits[]> {
  const listed: ListedLimits[] = [];
  for (const queue of queues) {
    if (!queue.hasGroupSettings) listed.push({ queue, groups: [], hasMore: false });
    else {
      const { each, groups, next } = await admin.groups(queue.name, { isSet: true, limit: MAX_GROUPS });
      listed.push({
        queue,
        ...(each && { each }),
        groups: groups.filter(({ isOwn }) => isOwn),
        hasMore: next !== undefined,
      });
    }
  }
  return listed;
}

/** Returns the limits as JSON. Rows of groups have a `group`, the limit of each group has `eachGroup`. */
export function limitsJson(listed: readonly ListedLimits[]): JsonOf<typeof limitListShape> {
  return {
    limits: listed.flatMap(({ queue: { name, limit, size }, each, groups }) => [
      ...(limit ? [{ queue: name, ...limit, queued: size }] : []),
      ...(each ? [{ queue: name, eachGroup: true, ...each }] : []),
      ...groups.map((info) => ({
        queue: name,
        group: info.name,
        ...separateLimit(info),
        ...info.limit,
        queued: info.size,
      })),
    ]),
    more: listed.filter(({ hasMore }) => hasMore).map(({ queue }) => queue.name),
  };
}

/** Prints a table of all limits. */
export function printLimits(listed: readonly ListedLimits[]): void {
  printTable(
    ["queue", "group", "limit", "now", "queued"],
    listed.flatMap(({ queue: { name, limit, size }, each, groups }) => [
      ...(limit ? [[name, "", limitText(limit), limitUse(limit), size]] : []),
      ...(each ? [[name, "(each)", groupLimitText(each), "", ""]] : []),
      ...groups.map((info) => [name, info.name, separateText(separateLimit(info), each), useOf(info), info.size]),
    ]),
    "No limits; jobs limit QUEUE --running 5 sets one",
  );
  for (const { queue, hasMore } of listed) if (hasMore) printMore(queue.name);
}

/** Prints the limit of one queue, and those of its groups. */
export function printLimit(queue: string, limits: ListedLimits | undefined): void {
  const limit = limits?.queue.limit;
  print(`Queue "${queue}": ${limit ? `${limitText(limit)} (${limitUse(limit)})` : "not limited"}`);
  if (limits === undefined) return;
  if (limits.each) print(groupLine(queue, undefined, groupLimitText(limits.each)));
  for (const info of limits.groups) {
    const use = useOf(info);
    print(
      groupLine(queue, info.name, separateText(separateLimit(info), limits.each) + (use === "" ? "" : ` (${use})`)),
    );
  }
  if (limits.hasMore) printMore(queue);
}

/** Returns `Queue "mail", group "acme": 2 at once`. @param group undefined: each group */
export function groupLine(queue: string, group: string | undefined, limit: string): string {
  return `Queue "${queue}", ${group === undefined ? "each group" : `group "${group}"`}: ${limit || "not limited"}`;
}

/** Returns the separate limit of a group, with that of each group if it applies: `weight 3; as each group: 2 at once`. */
export function separateText(separate: GroupLimit, each: GroupLimit = {}): string {
  const shared = separate.running === undefined && separate.starts === undefined ? limitText(each) : "";
  return [groupLimitText(separate), shared && `as each group: ${shared}`].filter(Boolean).join("; ");
}

function useOf({ limit }: GroupInfo): string {
  return limit ? limitUse(limit) : "";
}

function printMore(queue: string): void {
  printFaint(`more: groups of "${queue}" (jobs list groups ${queue} --limit all)`);
}
