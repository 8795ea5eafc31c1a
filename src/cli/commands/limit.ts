/** `jobs limit [QUEUE]`. @module */
import { QUEUE_NAME } from "../../job/queue_name.ts";
import type { QueueInfo } from "../../store/admin/admin.ts";
import { parseRunning, parseStarts, type QueueLimit } from "../../store/port/limits.ts";
import { limitText, limitUse } from "../../text/limits.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { recordAudit } from "../shared/audit.ts";
import { print, printJson } from "../terminal/output.ts";
import { withStore } from "../shared/store.ts";
import { printTable } from "../terminal/table.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs limit QUEUE [--running N|none] [--starts N/TIME|none]
       jobs limit QUEUE --off
       jobs limit [QUEUE]

Limits a queue: at most --running of its jobs run at once, and at most --starts begin in any time, all processes together:

  jobs limit reports --running 2        never more than two at a time
  jobs limit mail --starts 100/1m       a hundred a minute, in any minute
  jobs limit mail --starts none         no longer

What is not named stays as it is; --off ends both. Without an option it prints the limit, and without a queue those of
all. A limit holds within a second everywhere, and over restarts; jobs that run already are not ended. The other queues of
a process go on: give what is limited a queue of its own. Workers of Sidekiq on the same store do not know of limits.`;

/** Limits a queue, or tells how it is. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [queue, ...more] } = parseCommand("limit", argv, {
    ...COMMON_FLAGS,
    running: { takes: "text" },
    starts: { takes: "text" },
    off: { takes: "switch" },
  });
  const changes = flags.off || flags.running !== undefined || flags.starts !== undefined;
  if (more.length > 0) throw new UsageError(`Superfluous: "${more[0]}"; one queue is limited at a time`);
  if (changes && queue === undefined) throw new UsageError("Which queue? Wanted: jobs limit QUEUE …");
  if (queue !== undefined && !QUEUE_NAME.test(queue)) {
    throw new UsageError(`Queue "${queue}" cannot be; wanted: a name of letters, digits and _ : . -`);
  }
  if (flags.off && (flags.running !== undefined || flags.starts !== undefined)) {
    throw new UsageError("Options --off and --running or --starts contradict each other");
  }
  const running = optionOf("running", flags.running, parseRunning);
  const starts = optionOf("starts", flags.starts, parseStarts);
  return await withStore(flags, async (store) => {
    if (changes) {
      const before = (await store.admin.stats()).queues.find(({ name }) => name === queue)?.limit;
      const limit: QueueLimit = flags.off ? {} : {
        ...kept("running", running, before?.running),
        ...kept("starts", starts, before?.starts),
      };
      await store.admin.limit(queue!, limit);
      await recordAudit(store, { action: "limit", target: `queue:${queue}`, details: limitText(limit) || "off" });
    }
    const limited = (await store.admin.stats()).queues.filter((info) =>
      info.limit && (queue === undefined || info.name === queue)
    );
    if (flags.json) printJson(limited.map(({ name, limit }) => ({ queue: name, ...limit })));
    else if (queue !== undefined) print(`${queue}: ${describe(limited[0])}`);
    else printLimits(limited);
    return 0;
  }, { make: changes ? "always" : "never" });
}

/** What an option says; null: no limit; undefined: it was not given. */
function optionOf<Value>(
  name: string,
  text: string | undefined,
  parse: (text: string) => Value,
): Value | null | undefined {
  if (text === undefined || text === "none") return text && null;
  try {
    return parse(text);
  } catch (error) {
    throw new UsageError(`Option --${name}: ${(error as Error).message}, or none`);
  }
}

function kept<Name extends string, Value>(name: Name, said: Value | null | undefined, before: Value | undefined) {
  const value = said === undefined ? before : said;
  return (value === undefined || value === null ? {} : { [name]: value }) as { readonly [key in Name]?: Value };
}

function describe(info: QueueInfo | undefined): string {
  return info?.limit ? `${limitText(info.limit)} (${limitUse(info.limit)})` : "not limited";
}

function printLimits(queues: readonly QueueInfo[]): void {
  printTable(
    ["queue", "limit", "now", "size"],
    queues.map(({ name, limit, size }) => [name, limitText(limit!), limitUse(limit!), size]),
    "No queue is limited: jobs limit QUEUE --running 5 does it",
  );
}
