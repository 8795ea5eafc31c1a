/** `jobs limit QUEUE --each-group` and `--group NAME`. @module */
import { limitGroup } from "../../operator/actions/queues.ts";
import { textsInput } from "../../operator/shapes/shape.ts";
import type { Store } from "../../store/admin/store.ts";
import type { AdminStore } from "../../store/admin/admin.ts";
import { type GroupLimit, separateLimit } from "../../store/port/groups.ts";
import { actHere, inputOf } from "../shared/act.ts";
import { attempt } from "../shared/report.ts";
import { type ConfigFlags, withStore } from "../shared/store.ts";
import { UsageError } from "../terminal/errors.ts";
import { print, printJson } from "../terminal/output.ts";
import { given, LIMIT_WORDS, type LimitFlags, limitTexts } from "./limit.ts";
import { groupLine, separateText } from "./limit_list.ts";

/** The flags that concern groups. */
export interface GroupFlags extends ConfigFlags, LimitFlags {
  readonly json: boolean;
  readonly off: boolean;
  readonly "each-group": boolean;
  readonly group?: string | undefined;
}

/** Limits one group, or each group, and prints its limit. @param changes whether an option sets a part of the limit */
export async function limitGroups(queue: string, flags: GroupFlags, changes: boolean): Promise<number> {
  const { group } = flags;
  if (flags["each-group"] && group !== undefined) {
    throw new UsageError("--each-group contradicts --group");
  }
  if (group === undefined && (flags.weight !== undefined || flags.for !== undefined)) {
    throw new UsageError("--weight and --for need one group: use --group NAME");
  }
  const at = { name: queue, group };
  // Another limit stands for that which is set already, which is read later.
  const other = changes && !flags.off ? { running: "1" } : {};
  inputOf(limitGroup.takes, { ...at, ...other, ...given(flags) }, LIMIT_WORDS);
  return await withStore(flags, async (store) => {
    if (changes) {
      const before = limitTexts(await limitOf(store.admin, queue, group));
      const { for: time, ...parts } = flags.off ? {} : { ...before, ...given(flags, "") };
      const isLimited = Object.values(parts).some((part) => part !== "");
      if (flags.for !== undefined && time && !isLimited) {
        throw new UsageError("--for needs a limit that ends: add --running, --starts or --weight");
      }
      const texts = { ...at, ...parts, for: isLimited ? time : undefined };
      await actHere(store, limitGroup, textsInput(limitGroup.takes, texts));
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
