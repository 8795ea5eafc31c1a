/** `jobs find TEXT`. @module */
import { systemClock } from "../../clock.ts";
import { type EndedJob, readEnded } from "../../job/result.ts";
import type { Entry } from "../../store/admin/admin.ts";
import { relative } from "../../text/times.ts";
import { COMMON_FLAGS, limitOf, parseCommand, UsageError } from "../terminal/args.ts";
import { entryJson, stateOf } from "../shared/job_rows.ts";
import { glance } from "../top/job_summary.ts";
import { cameTo } from "./list_finished.ts";
import { faint, print, printError, printJson } from "../terminal/output.ts";
import { withStore } from "../shared/store.ts";
import { type Column, printTable, STATE_COLOURS } from "../terminal/table.ts";
import type { Store } from "../../store/admin/store.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs find TEXT [-n 25]

Looks for jobs everywhere: in queues, scheduled, retry, dead, running, and among those that have ended and are still known.
TEXT is any part of a jid, a class, a queue, an argument, a tag or an error; upper and lower case are the same. -n, --limit
is how many are shown of those that are there, and of those that have ended. The stack of a job's last failure is not
looked at: it is kept packed (jobs show prints it). It reads all there is: in a store of millions that takes seconds. Exit 1
when nothing is found.`;

/** Looks for jobs. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [text, ...more] } = parseCommand("find", argv, {
    ...COMMON_FLAGS,
    limit: { takes: "text", short: "n" },
  });
  if (text === undefined || text === "") throw new UsageError("A TEXT is wanted: jobs find TEXT");
  if (more.length > 0) throw new UsageError(`Superfluous: "${more[0]}" (a text with blanks stands in quotes)`);
  const limit = limitOf(flags.limit);
  const found = await withStore(flags, (store) => search(store, text, limit));
  if (flags.json) {
    printJson({ entries: found.entries.map(entryJson), ended: found.ended, more: found.more });
  } else if (found.entries.length + found.ended.length > 0) {
    const now = systemClock.now();
    printTable(COLUMNS, [
      ...found.entries.map((entry) => entryRow(entry, now)),
      ...found.ended.map((job) => endedRow(job, now)),
    ], "");
    if (found.more) print(faint("there are more: -n shows more of them"));
  } else printError(`jobs: no job with "${text}" here`);
  return found.entries.length + found.ended.length > 0 ? 0 : 1;
}

const COLUMNS: readonly Column[] = [
  { heading: "jid", is: "whole" },
  { heading: "state", is: "whole", colours: STATE_COLOURS },
  { heading: "when", is: "optional" },
  { heading: "queue", is: "optional" },
  "job",
  "came to",
];

interface Found {
  readonly entries: readonly Entry[];
  readonly ended: readonly EndedJob[];
  /** Whether there are more than were asked for. */
  readonly more: boolean;
}

/** What is there, then what has ended; a job that is dead is both, and there once. */
async function search(store: Store, text: string, limit: number): Promise<Found> {
  const entries = await store.admin.search(text, limit + 1);
  const here = new Set(entries.map((entry) => glance(entry).jid));
  const records = await store.results.search(text, limit + here.size + 1);
  const ended = records.map(readEnded).filter(({ jid }) => !here.has(jid));
  return {
    entries: entries.slice(0, limit),
    ended: ended.slice(0, limit),
    more: entries.length > limit || ended.length > limit,
  };
}

function entryRow(entry: Entry, now: number): unknown[] {
  const { jid = "", queue: named = "", call, failure } = glance(entry);
  const queue = entry.place.in === "queue" ? entry.place.queue : named;
  return [jid, stateOf(entry), relative(entry.at, now), queue, call, failure];
}

function endedRow(job: EndedJob, now: number): unknown[] {
  return [job.jid, job.state, relative(job.ended_at, now), job.queue, job.class, cameTo(job)];
}
