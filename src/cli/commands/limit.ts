/** `jobs limit [QUEUE]`. @module */
import { isQueueName, QUEUE_NAME_EXPECTED } from "../../job/queue_name.ts";
import type { Store } from "../../store/admin/store.ts";
import { parseRunning, parseStarts, type QueueLimit } from "../../store/port/limits.ts";
import { limitText } from "../../text/limits.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { queueNotFound } from "../terminal/confirm.ts";
import { recordAudit } from "../shared/audit.ts";
import { printJson } from "../terminal/output.ts";
import { limitGroups } from "./limit_groups.ts";
import { limitsJson, printLimit, printLimits, readLimits } from "./limit_list.ts";
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
  const changes = flags.off || isOfGroups || parts.some((part) => part !== undefined);
  if (changes && queue === undefined) {
    throw new UsageError("Missing argument: QUEUE. Usage: jobs limit QUEUE [OPTION …]");
  }
  if (queue !== undefined && !isQueueName(queue)) {
    throw new UsageError(`Invalid queue "${queue}": expected ${QUEUE_NAME_EXPECTED}`);
  }
  if (flags.off && parts.some((part) => part !== undefined)) {
    throw new UsageError("--off contradicts --running, --starts, --weight and --for");
  }
  if (isOfGroups) return await limitGroups(queue!, flags);
  if (flags.weight !== undefined || flags.for !== undefined) {
    throw new UsageError("--weight and --for need a group: add --group NAME");
  }
  const running = optionOf("running", flags.running, parseRunning);
  const starts = optionOf("starts", flags.starts, parseStarts);
  return await withStore(flags, async (store) => {
    if (changes) {
      const before = (await store.admin.stats()).queues.find(({ name }) => name === queue)?.limit;
      const limit: QueueLimit = flags.off ? {} : {
        ...partOf("running", running, before?.running),
        ...partOf("starts", starts, before?.starts),
      };
      await store.admin.limit(queue!, limit);
      await recordAudit(store, { action: "limit", target: `queue:${queue}`, details: limitText(limit) || "off" });
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

/** Returns the value of an option; null for `none`, undefined if it isn't given. */
export function optionOf<Value>(
  name: string,
  text: string | undefined,
  parse: (text: string) => Value,
): Value | null | undefined {
  if (text === undefined || text === "none") return text && null;
  try {
    return parse(text);
  } catch (error) {
    throw new UsageError(`Invalid --${name} "${text}": ${expectationOf(error as Error)}, or none`);
  }
}

/** Returns the part of a limit that an option sets, or its previous value. */
export function partOf<Name extends string, Value>(
  name: Name,
  given: Value | null | undefined,
  before: Value | undefined,
) {
  const value = given === undefined ? before : given;
  return (value === undefined || value === null ? {} : { [name]: value }) as { readonly [key in Name]?: Value };
}

/** Returns what the parser of a limit expected: its message begins with the invalid text. */
function expectationOf(error: Error): string {
  return `expected ${error.message.replace(/^.*?(expected|Expected)\s*/s, "")}`;
}
