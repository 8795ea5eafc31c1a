/** `jobs errors`. @module */
import { systemClock } from "../../clock.ts";
import { ErrorGroups } from "../../operator/query/error_groups.ts";
import { jobsIn } from "../../operator/query/jobs.ts";
import { windows } from "../../store/ops/scan.ts";
import { ERROR_COLUMNS, errorGroupJson } from "../../text/error_groups.ts";
import { number } from "../../text/format.ts";
import { COMMON_FLAGS, parseCommand, parseLimit } from "../terminal/args.ts";
import { FILTER_FLAGS, FILTER_HELP, parseFilter } from "../shared/filter_flags.ts";
import { printError, printFaint, printJson } from "../terminal/output.ts";
import { LongWork } from "../terminal/progress.ts";
import { Interrupted } from "../terminal/errors.ts";
import { Mask } from "../../text/mask.ts";
import { withStore } from "../shared/store.ts";
import { printList } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs errors [FILTER …] [-n 25]

Groups the dead and retrying jobs by class and error, the largest group first,
with counts, the first and last failure, and an example. Numbers, ids and quoted
texts in messages count as equal and are shown as *. What it shows as class and
error selects the group's jobs in other commands.

${FILTER_HELP}

  -n, --limit N|all      show this many groups (25)

Examples
  jobs errors --newer-than 1d
  jobs errors --queue mail --json
  jobs retry --all dead --class Mail --error 'Timeout: no reply after *s'`;

/** Groups failed jobs. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("errors", argv, {
    ...COMMON_FLAGS,
    ...FILTER_FLAGS,
    limit: { takes: "text", short: "n" },
  }, "");
  const limit = parseLimit(flags.limit);
  const now = systemClock.now();
  const filter = parseFilter(flags, now);
  const groups = await withStore(flags, async (store, { webMask }) => {
    const groups = new ErrorGroups({ mask: new Mask(webMask, true) });
    const { dead, retry } = await store.admin.stats();
    using work = new LongWork("Reading");
    let done = 0;
    for (const place of [{ in: "dead" }, { in: "retry" }] as const) {
      for await (const window of windows(jobsIn({ store }, { place, filter }))) {
        for (const entry of window.rows) groups.add(entry);
        work.at({ done: done += window.looked, total: dead + retry });
        if (work.signal.aborted) throw new Interrupted(`Interrupted: read ${number(done)} jobs`);
      }
    }
    return groups;
  });
  const all = groups.list();
  const shown = all.slice(0, limit === Infinity ? all.length : limit);
  if (flags.json) {
    const more = all.length > shown.length;
    printJson({ groups: shown.map(errorGroupJson), more, total: all.length, ungrouped: groups.ungrouped });
    return 0;
  }
  printList(ERROR_COLUMNS, shown, "No failed jobs");
  if (all.length > shown.length) printFaint(`more: ${number(all.length - shown.length)} groups (--limit all)`);
  if (groups.ungrouped > 0) printError(`jobs: ${number(groups.ungrouped)} jobs have other errors: too many to group`);
  return 0;
}
