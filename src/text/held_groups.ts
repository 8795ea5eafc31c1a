/**
 * Why a group is held, since when, and the command that helps, in words.
 *
 * @module
 */
import type { LastSet } from "../store/admin/audit.ts";
import type { GroupInfo } from "../store/port/groups.ts";
import { groupHeldText, groupName, limitOption } from "./groups.ts";
import { limitSet, raiseLimit } from "./limits.ts";
import { pausedSince, pausedUntil } from "./queues.ts";
import { shellWord } from "./shell.ts";

/** Returns `group "acme" is at its limit: 2 of 2 running`, or until when it is paused; undefined if it isn't held. */
export function whyGroupHeld(group: GroupInfo, now: number): string | undefined {
  const name = `group "${groupName(group.name)}"`;
  if (group.paused) return `${name} is paused${pausedUntil(group.pausedForMs, now)}`;
  const held = groupHeldText(group);
  return held === "" ? undefined : `${name} is ${held}`;
}

/** Returns the same with `, set 5m ago by ann`; undefined if it isn't held. @param set its last pause or limit, if known */
export function whyGroupHeldSince(group: GroupInfo, set: LastSet | undefined, now: number): string | undefined {
  const why = whyGroupHeld(group, now);
  if (why === undefined) return undefined;
  return why + (group.paused ? pausedSince(set, now) : limitSet(group.limit!, set, now));
}

/** Returns the command that resumes a held group or raises its limit, and what it does to the group. */
export function groupCommand(queue: string, group: GroupInfo): { readonly command: string; readonly does: string } {
  return group.paused
    ? { command: `jobs resume ${shellWord(queue)} --group ${shellWord(group.name)}`, does: "resumes it" }
    : { command: raiseLimit(queue, group.limit!, limitOption(group)), does: "raises it" };
}
