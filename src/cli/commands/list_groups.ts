/** `jobs list groups QUEUE`. @module */
import { formatDuration } from "../../job/duration.ts";
import { shellWord } from "../../text/shell.ts";
import { GROUP_COLUMNS, groupName, shareText } from "../../text/groups.ts";
import { type ConfigFlags, withStore } from "../shared/store.ts";
import { parseLimit } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { printFaint, printJson } from "../terminal/output.ts";
import { printList } from "../terminal/table.ts";

/** Completes "Usage: …". */
export const GROUPS_USAGE = "jobs list groups QUEUE [-n N] [--cursor CURSOR]";

/** The flags of the list. */
export interface GroupListFlags extends ConfigFlags {
  readonly json: boolean;
  readonly limit?: string | undefined;
  readonly cursor?: string | undefined;
}

/** Lists the groups of a queue: their queued and running jobs, fair share and limit, and why they are held. */
export async function listGroups(queue: string | undefined, flags: GroupListFlags): Promise<number> {
  if (queue === undefined) throw new UsageError(`Missing argument: QUEUE. Usage: ${GROUPS_USAGE}`);
  const limit = Math.min(parseLimit(flags.limit), 10_000);
  return await withStore(flags, async (store) => {
    const { cursor } = flags;
    const page = await store.admin.groups(queue, {
      limit,
      ...(cursor === undefined ? { withSlowest: true } : { cursor }),
    });
    if (flags.json) {
      printJson(page);
      return 0;
    }
    const none = `No groups in queue "${queue}": jobs push CLASS -q ${queue} --group NAME creates one`;
    printList(GROUP_COLUMNS, page.groups, none);
    if (page.ungrouped > 0 && page.groups.length > 0) {
      const share = page.ungroupedFairShare === undefined ? "" : `, fair share ${shareText(page.ungroupedFairShare)}`;
      printFaint(`without a group: ${page.ungrouped}${share}`);
    }
    if (page.slowest !== undefined && page.groups.length > 1) {
      printFaint(`slowest: ${groupName(page.slowest.name)}, ${formatDuration(page.slowest.latencyMs)}`);
    }
    if (page.next !== undefined) printFaint(`more: --cursor=${shellWord(page.next)}`);
    return 0;
  });
}
