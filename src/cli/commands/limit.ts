/** `jobs limit [QUEUE]`. @module */
import { limitQueue } from "../../operator/actions/queues.ts";
import { textsInput } from "../../operator/shapes/shape.ts";
import type { Store } from "../../store/admin/store.ts";
import type { GroupLimit } from "../../store/port/groups.ts";
import { formatStarts } from "../../store/port/limits.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { queueNotFound } from "../../operator/actions/places.ts";
import { printJson } from "../terminal/output.ts";
import { limitGroups } from "./limit_groups.ts";
import { limitsJson, printLimit, printLimits, readLimits } from "./limit_list.ts";
import { actHere, inputOf, type InputWords } from "../shared/act.ts";
import { attempt } from "../shared/report.ts";
import { withStore } from "../shared/store.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs limit QUEUE [--running N|none] [--starts N/TIME|none]
       jobs limit QUEUE --each-group [--running N|none] [--starts N/TIME|none]
       jobs limit QUEUE --group NAME [OPTION …]
       jobs limit QUEUE [--each-group|--group NAME] --off
       jobs limit [QUEUE]

Limits a queue across all workers: at most --running of its jobs run at once,
and at most --starts begin within any TIME. Options that aren't given keep their
value. Without an option, prints the limits of the queue and its groups, or of
all queues. A limit takes effect within a second, outlives restarts, and doesn't
end running jobs. Sidekiq's workers on the same store ignore limits.

      --running N        at most this many jobs at once; none: no limit
      --starts N/TIME    at most this many starts, for example 100/1m
      --off              remove the limit of the queue, of each group or of one
      --each-group       limit every group of the queue (jobs push --group)
      --group NAME       limit this group, instead of as each group
      --weight N         the group's share of the queue; others have 1
      --for TIME         remove the group's limit after 30d, 2h …

Examples
  jobs limit reports --running 2
  jobs limit mail --starts 100/1m
  jobs limit mail --off
  jobs limit exports --each-group --running 2
  jobs limit exports --group acme --running 10 --weight 3 --for 30d`;

/** Limits a queue, or prints limits. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [queue] } = parseCommand("limit", argv, {
    ...COMMON_FLAGS,
    running: { takes: "text" },
    starts: { takes: "text" },
    off: { takes: "switch" },
    "each-group": { takes: "switch" },
    group: { takes: "text" },
    weight: { takes: "text" },
    for: { takes: "text" },
  }, "[QUEUE]");
  const isOfGroups = flags["each-group"] || flags.group !== undefined;
  const parts = [flags.running, flags.starts, flags.weight, flags.for];
  const changes = flags.off || parts.some((part) => part !== undefined);
  if ((changes || isOfGroups) && queue === undefined) {
    throw new UsageError("Missing argument: QUEUE. Usage: jobs limit QUEUE [OPTION …]");
  }
  if (flags.off && parts.some((part) => part !== undefined)) {
    throw new UsageError("--off contradicts --running, --starts, --weight and --for");
  }
  if (isOfGroups) return await limitGroups(queue!, flags, changes);
  if (flags.weight !== undefined || flags.for !== undefined) {
    throw new UsageError("--weight and --for need a group: add --group NAME");
  }
  if (queue !== undefined) inputOf(limitQueue.takes, { name: queue, ...given(flags) }, LIMIT_WORDS);
  return await withStore(flags, async (store) => {
    if (changes) {
      const before = (await store.admin.stats()).queues.find(({ name }) => name === queue)?.limit;
      const texts = flags.off ? {} : { ...limitTexts(before ?? {}), ...given(flags, "") };
      await actHere(store, limitQueue, textsInput(limitQueue.takes, { name: queue, ...texts }));
    }
    const show = () => showLimits(store, queue, { json: flags.json, isNew: changes });
    await (changes ? attempt(show, "limited; can't read the limit again") : show());
    return 0;
  }, { make: changes ? "always" : "never" });
}

async function showLimits(
  store: Store,
  queue: string | undefined,
  { json, isNew }: { readonly json: boolean; readonly isNew: boolean },
): Promise<void> {
  const queues = (await store.admin.stats()).queues;
  if (queue !== undefined && !isNew && !queues.some(({ name }) => name === queue)) {
    throw queueNotFound(queue, queues.map(({ name }) => name));
  }
  const listed = await readLimits(store.admin, queues.filter(({ name }) => queue === undefined || name === queue));
  if (json) printJson(limitsJson(listed));
  else if (queue !== undefined) printLimit(queue, listed[0]);
  else printLimits(listed);
}

/** The options that set parts of a limit. */
export interface LimitFlags {
  readonly running?: string | undefined;
  readonly starts?: string | undefined;
  readonly weight?: string | undefined;
  readonly for?: string | undefined;
}

/** The arguments of a limit, for messages. */
export const LIMIT_WORDS: InputWords = {
  args: { name: "queue" },
  cures: {
    ...{ running: ", or none", starts: ", or none", weight: ", or none", for: ", or none" },
    group: "; --each-group limits each group",
  },
};

/** Returns the parts of a limit that options set. @param none stands for a part that `none` removes; default: it isn't set */
export function given(
  { running, starts, weight, for: time }: LimitFlags,
  none?: string,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries({ running, starts, weight, for: time })
      .map(([name, text]) => [name, text === "none" ? none : text])
      .filter(([, text]) => text !== undefined),
  );
}

/** Returns the texts of a limit, as options have them. */
export function limitTexts({ running, starts, weight, forMs }: GroupLimit): Record<string, string> {
  return {
    ...(running !== undefined && { running: `${running}` }),
    ...(starts !== undefined && { starts: formatStarts(starts) }),
    ...(weight !== undefined && { weight: `${weight}` }),
    ...(forMs !== undefined && { for: `${forMs}ms` }),
  };
}
