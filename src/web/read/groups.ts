/**
 * Reads the groups of a queue for its page: those that are behind first, or those with a text in their name.
 *
 * @module
 */
import type { GroupInfo, GroupPage } from "../../store/port/groups.ts";
import { groupName } from "../../text/groups.ts";
import type { Services } from "../services.ts";

/** Groups of a page. */
const PAGE = 100;
/** Groups read at once for a search, and the longest time to read them. */
const WINDOW = 500;
const BUDGET_MS = 600;

/** The groups of a queue on its page. */
export interface GroupList extends GroupPage {
  /** The text that their names contain; empty for all. */
  readonly find: string;
  /** The page was reached by a cursor. */
  readonly isLater: boolean;
}

/**
 * Reads a page of groups. All groups of a queue that has up to {@linkcode PAGE} are in order of their latency; those of others, and the
 * found ones, are in order of their names.
 */
export async function readGroups(
  { store: { admin }, clock }: Pick<Services, "store" | "clock">,
  queue: string,
  { cursor, find }: { readonly cursor: string | undefined; readonly find: string },
): Promise<GroupList> {
  const from = { ...(cursor && { cursor }) };
  const rest = { find, isLater: cursor !== undefined };
  if (find === "") {
    const page = await admin.groups(queue, { withSlowest: true, limit: PAGE, ...from });
    const isWhole = page.next === undefined && cursor === undefined;
    return { ...page, groups: isWhole ? page.groups.toSorted(byLatency) : page.groups, ...rest };
  }
  const until = clock.monotonic() + BUDGET_MS;
  const text = find.toLowerCase();
  const groups: GroupInfo[] = [];
  for (let request = { limit: WINDOW, ...from };;) {
    const page = await admin.groups(queue, request);
    groups.push(...page.groups.filter(({ name }) => groupName(name).toLowerCase().includes(text)));
    const isEnd = page.next === undefined || groups.length >= PAGE || clock.monotonic() >= until;
    if (isEnd) return { ...page, groups, ...rest };
    request = { limit: WINDOW, cursor: page.next! };
    await clock.turn();
  }
}

function byLatency(a: GroupInfo, b: GroupInfo): number {
  return b.latencyMs - a.latencyMs || b.size - a.size || (a.name < b.name ? -1 : 1);
}
