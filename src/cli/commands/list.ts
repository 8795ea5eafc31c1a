/** `jobs list WHAT`. @module */
import { systemClock } from "../../clock.ts";
import { closestWord } from "../../text/suggest.ts";
import type { Entry, Place, SetName } from "../../store/admin/admin.ts";
import { relative } from "../../text/times.ts";
import { isSidekiqWorker } from "../../text/workers.ts";
import { COMMON_FLAGS, limitOf, parseCommand, UsageError } from "../terminal/args.ts";
import { entryJson } from "../shared/job_rows.ts";
import { glance } from "../top/job_summary.ts";
import { listFinished } from "./list_finished.ts";
import { faint, print, printError, printJson } from "../terminal/output.ts";
import { QUEUE_COLUMNS, queueRows } from "../shared/pause_queues.ts";
import { withStore } from "../shared/store.ts";
import { type Column, printTable } from "../terminal/table.ts";
import type { Store } from "../../store/admin/store.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs list queues
       jobs list queue NAME   [--limit N] [--cursor C] [--reverse]
       jobs list scheduled    [--limit N] [--cursor C] [--reverse]
       jobs list retry|dead|busy …
       jobs list done         [--search TEXT] [--limit N] [--cursor C]

Lists queues, or the jobs in one place, oldest or earliest first. --limit (25) is the size of a page; where there is
more, the last line has the --cursor of the next page. --json prints { entries, next }.

done lists jobs that have ended and are still known, the latest first: those with a result, those that failed, and all
others where the setting retention.done says so.`;

const WHAT = ["queues", "queue", "scheduled", "retry", "dead", "busy", "done"] as const;

/** Lists what is asked for. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [what, name, ...more] } = parseCommand("list", argv, {
    ...COMMON_FLAGS,
    limit: { takes: "text", short: "n" },
    cursor: { takes: "text" },
    reverse: { takes: "switch", short: "r" },
    search: { takes: "text" },
  });
  if (!WHAT.includes(what as typeof WHAT[number])) {
    const meant = what === undefined ? undefined : closestWord(what, WHAT);
    throw new UsageError(
      `${what === undefined ? "Nothing to list" : `Unknown list "${what}"`}; ` +
        (meant
          ? `did you mean jobs list ${meant}?`
          : `wanted: jobs list ${WHAT.join("|")}; jobs list queue NAME lists the jobs of one queue`),
    );
  }
  if (what === "queue" ? name === undefined || more.length > 0 : name !== undefined) {
    throw new UsageError(what === "queue" ? "One NAME is wanted: jobs list queue NAME" : `Superfluous: "${name}"`);
  }
  const limit = limitOf(flags.limit);
  return await withStore(flags, async (store) => {
    if (what === "queues") return await listQueues(store, flags.json);
    if (what === "done") return await listFinished(store, { ...flags, limit });
    const page = await store.admin.page(place(what as string, name), {
      limit,
      reverse: flags.reverse,
      ...(flags.cursor !== undefined && { cursor: flags.cursor }),
    });
    if (flags.json) printJson({ entries: page.entries.map(entryJson), next: page.next });
    else {
      printEntries(what as string, page.entries, page.next);
      if (what === "busy") remarkSidekiqs(await store.workers.list());
    }
    return 0;
  });
}

function place(what: string, name: string | undefined): Place {
  if (what === "queue") return { in: "queue", queue: name! };
  return what === "busy" ? { in: "leased" } : { in: what as SetName };
}

async function listQueues(store: Store, json: boolean): Promise<number> {
  const queues = (await store.admin.stats()).queues;
  if (json) printJson(queues);
  else {
    printTable(
      QUEUE_COLUMNS,
      queueRows(queues),
      "No queues yet: jobs push CLASS makes one",
    );
  }
  return 0;
}

/** A process of Sidekiq's holds no lease on what it performs: that is in no place here. */
function remarkSidekiqs(processes: readonly WorkerInfo[]): void {
  const busy = processes.filter(isSidekiqWorker).reduce((sum, process) => sum + process.busy, 0);
  if (busy > 0) printError(`jobs: ${busy} more in processes of Sidekiq's (jobs top, jobs ps --json)`);
}

/** What the time of an entry means, by place. */
const TIME_HEADING: Readonly<Record<string, string>> = {
  scheduled: "due",
  retry: "due",
  dead: "died",
  busy: "taken",
};

function printEntries(what: string, entries: readonly Entry[], next: string | undefined): void {
  const now = systemClock.now();
  const failed = what === "retry" || what === "dead";
  const rows = entries.map((entry) => {
    const { jid = "", queue = "", call, failure } = glance(entry);
    return [
      jid,
      ...(what === "queue" ? [] : [relative(entry.at, now), queue]),
      ...(what === "busy" ? [entry.owner ?? ""] : []),
      call,
      ...(failed ? [failure] : []),
    ];
  });
  const columns: Column[] = [
    { heading: "jid", is: "whole" },
    ...(what === "queue" ? [] : [
      { heading: TIME_HEADING[what]!, is: "whole" } as const,
      { heading: "queue", is: "optional" } as const,
    ]),
    ...(what === "busy" ? ["process"] : []),
    "job",
    ...(failed ? ["error"] : []),
  ];
  printTable(columns, rows, what === "busy" ? "No jobs are running" : `No jobs in ${what}`);
  if (next !== undefined) print(faint(`more: --cursor ${next}`));
}
