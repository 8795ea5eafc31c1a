/** `jobs limit QUEUE --each-group` and `--group NAME`. @module */
import { isPath } from "../../job/group.ts";
import type { Store } from "../../store/admin/store.ts";
import type { AdminStore } from "../../store/admin/admin.ts";
import { type GroupLimit, parseEnd, parseWeight, separateLimit } from "../../store/port/groups.ts";
import { parseRunning, parseStarts } from "../../store/port/limits.ts";
import { groupLimitText } from "../../text/groups.ts";
import { pauseTarget } from "../../store/port/paused_queues.ts";
import { recordAudit } from "../shared/audit.ts";
import { checkGroupFlag } from "../shared/pause_groups.ts";
import { attempt } from "../shared/report.ts";
import { type ConfigFlags, withStore } from "../shared/store.ts";
import { UsageError } from "../terminal/errors.ts";
import { print, printJson } from "../terminal/output.ts";
import { optionOf, partOf } from "./limit.ts";
import { groupLine, separateText } from "./limit_list.ts";

/** The flags that concern groups. */
export interface GroupFlags extends ConfigFlags {
  readonly json: boolean;
  readonly off: boolean;
  readonly "each-group": boolean;
  readonly group?: string | undefined;
  readonly running?: string | undefined;
  readonly starts?: string | undefined;
  readonly weight?: string | undefined;
  readonly for?: string | undefined;
}

/** Limits one group, or each group, and prints its limit. */
export async function limitGroups(queue: string, flags: GroupFlags): Promise<number> {
  const { group } = flags;
  if (flags["each-group"] && group !== undefined) {
    throw new UsageError("--each-group contradicts --group");
  }
  if (group !== undefined) checkGroupFlag(group);
  if (group === undefined && (flags.weight !== undefined || flags.for !== undefined)) {
    throw new UsageError("--weight and --for need one group: use --group NAME");
  }
  const running = optionOf("running", flags.running, parseRunning);
  const starts = optionOf("starts", flags.starts, parseStarts);
  const weight = optionOf("weight", flags.weight, parseWeight);
  const forMs = optionOf("for", flags.for, parseEnd);
  const parts = [flags.running, flags.starts, flags.weight, flags.for];
  const changes = flags.off || parts.some((part) => part !== undefined);
  if (group !== undefined && isPath(group) && changes && !flags.off) {
    throw new UsageError(`Invalid --group "${group}": expected a name, not a path; --each-group limits each group`);
  }
  return await withStore(flags, async (store) => {
    if (changes) {
      const before = await limitOf(store.admin, queue, group);
      const limit: GroupLimit = flags.off ? {} : {
        ...partOf("running", running, before.running),
        ...partOf("starts", starts, before.starts),
        ...partOf("weight", weight, before.weight),
        ...partOf("forMs", forMs, before.forMs),
      };
      if (
        typeof forMs === "number" && [limit.running, limit.starts, limit.weight].every((part) => part === undefined)
      ) {
        throw new UsageError("--for needs a limit that ends: add --running, --starts or --weight");
      }
      await store.admin.limitGroup(queue, group, limit);
      const target = group === undefined ? `${pauseTarget(queue)} each group` : pauseTarget(queue, group);
      await recordAudit(store, { action: "limit", target, details: groupLimitText(limit) || "off" });
    }
    const show = () => showLimit(store, queue, group, flags.json);
    await (changes ? attempt(show, "limited; can't read the limit again") : show());
    return 0;
  }, { make: changes ? "always" : "never" });
}

async function showLimit(store: Store, queue: string, group: string | undefined, json: boolean): Promise<void> {
  const limit = await limitOf(store.admin, queue, group);
  const each = group === undefined ? {} : await limitOf(store.admin, queue, undefined);
  if (json) printJson({ queue, ...(group === undefined ? { eachGroup: true } : { group }), ...limit });
  else print(groupLine(queue, group, separateText(limit, each)));
}

/** Reads the separate limit of a group, or the limit of each group. */
async function limitOf(
  admin: Pick<AdminStore, "groups">,
  queue: string,
  group: string | undefined,
): Promise<GroupLimit> {
  if (group === undefined) return (await admin.groups(queue, { limit: 1 })).each ?? {};
  const [info] = (await admin.groups(queue, { group })).groups;
  return info === undefined ? {} : separateLimit(info);
}
