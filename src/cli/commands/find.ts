/** `jobs find [WORD …] [FILTER …]`. @module */
import { Mask } from "../../text/mask.ts";
import { maskedEnded, maskedEntry, maskedNode } from "../shared/masked.ts";
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import { type EndedJob, readEnded } from "../../job/result.ts";
import type { Entry } from "../../store/port/entries.ts";

import { isPlainText, type JobFilter, wordsOf } from "../../operator/query/filter.ts";
import { type Finished, finishedJobs, jobsIn } from "../../operator/query/jobs.ts";
import { page, type Source } from "../../store/ops/scan.ts";
import { foundIn } from "../../text/found_in.ts";
import { finishedCall, finishedJson, finishedState, resultText } from "../../text/finished.ts";
import { jobJson, readablePayload } from "../../text/job_json.ts";
import { localTime } from "../../text/times.ts";
import { COMMON_FLAGS, parseCommand, parseLimit } from "../terminal/args.ts";
import { NotFoundError, UsageError } from "../terminal/errors.ts";
import { describeFilterFlags, FILTER_FLAGS, FILTER_HELP, hasFilter, parseFilter } from "../shared/filter_flags.ts";
import { reportJson } from "../shared/job_rows.ts";
import { SearchWork } from "../shared/search_work.ts";
import { placesOf, stateOfPlace, STATES } from "../../operator/actions/places.ts";
import { glance } from "../top/job_summary.ts";
import { reportsByJid } from "../top/running_jobs.ts";
import { type WaitingNode, waitingNodes } from "../../operator/query/waiting_nodes.ts";
import { nodeCall, waitingJson } from "../../text/flows.ts";
import { printFaint, printJson } from "../terminal/output.ts";
import { withStore } from "../shared/store.ts";
import { type Column, printTable } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs find [WORD …] [FILTER …] [-n 25]

Finds jobs in every state, also finished ones and nodes that wait in flows. Each
WORD must be part of a jid, a class, a queue, an argument, a tag or an error, in
upper or lower case; quotes keep a phrase together. Stack traces aren't
searched. A column names the field if the row doesn't show the words. Reads the
whole store: with millions of jobs this takes seconds. Ctrl-C ends it with the
jobs found until then, exit 130. Exit 1 if nothing is found.

${FILTER_HELP}

  -n, --limit N|all      show at most this many jobs, and this many
                         waiting and finished ones (25)

Examples
  jobs find invoice 94086
  jobs find 'no such account'
  jobs find bob@example.com --class 'Mail*'
  jobs find --tag nightly --newer-than 1d`;

/** Finds jobs. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("find", argv, {
    ...COMMON_FLAGS,
    ...FILTER_FLAGS,
    limit: { takes: "text", short: "n" },
  }, "[WORD …]");
  // The shell has removed the quotes of a phrase.
  const text = args.map((word) => /\s/.test(word) && !word.includes('"') ? `"${word}"` : word).join(" ");
  if (text === "" && !hasFilter(flags)) {
    throw new UsageError("Missing argument: WORD or a filter. Usage: jobs find [WORD …] [FILTER …]");
  }
  const limit = parseLimit(flags.limit);
  const filter: JobFilter = { ...parseFilter(flags, systemClock.now()), ...(text !== "" && { q: text }) };
  const found = await withStore(flags, async (store, { webMask }) => {
    // Without a limit, all is read page by page: a reply of the store stays small.
    using work = await SearchWork.ofAll(store);
    const [word, ...more] = wordsOf(text);
    const jobs = hasFilter(flags) || limit === Infinity || word === undefined || more.length > 0 || !isPlainText(word)
      ? await searchFiltered(store, filter, { limit, work })
      : await searchText(store, word, { limit, work });
    const waiting: WaitingNode[] = [];
    for await (const some of waitingNodes(store, filter)) {
      waiting.push(...some);
      if (waiting.length > limit || work.signal.aborted) break;
    }
    // A dead job also has a record of its last attempt.
    const stored = new Set(jobs.entries.map((entry) => glance(entry).jid));
    const finished = jobs.finished.filter(({ jid }) => !stored.has(jid));
    const mask = new Mask(webMask, true);
    return {
      entries: jobs.entries.map((entry) => maskedEntry(entry, mask)),
      finished: finished.map((job) => maskedEnded(job, mask)),
      waiting: waiting.slice(0, limit).map((one) => maskedNode(one, mask)),
      more: jobs.more || waiting.length > limit || work.signal.aborted,
      reports: { running: reportsByJid(flags.json ? await store.workers.list() : []), mask },
      work,
    };
  });
  const shown = [
    text === "" ? "" : `with ${wordsOf(text).map((word) => `"${word}"`).join(" and ")}`,
    describeFilterFlags(flags),
  ].filter(Boolean).join(" ");
  const isEmpty = found.entries.length + found.waiting.length + found.finished.length === 0;
  const isInterrupted = found.work.signal.aborted;
  if (flags.json && (!isEmpty || isInterrupted)) {
    const jobs = [
      ...found.entries.map((entry) => ({ ...jobJson(entry), ...reportJson(entry, found.reports) })),
      ...found.waiting.map(waitingJson),
    ];
    printJson({ jobs, finished: found.finished.map(finishedJson), more: found.more });
  } else if (!isEmpty) {
    const now = systemClock.now();
    const words = wordsOf(text);
    const withField = (row: readonly unknown[], fields: object) => [
      ...row,
      foundIn(words, row, fields as Record<string, unknown>),
    ];
    const rows = [
      ...found.entries.map((entry) => withField(entryRow(entry, now), readablePayload(entry) ?? {})),
      ...found.waiting.map((one) => withField(waitingRow(one, now), { flow: one.flow, node: one.node.name })),
      ...found.finished.map((job) => withField(finishedRow(job, now), { ...job.payload, ...job })),
    ];
    const isHidden = rows.some((row) => row.at(-1) !== "");
    printTable(
      isHidden ? [...COLUMNS, "found in"] : COLUMNS,
      isHidden ? rows : rows.map((row) => row.slice(0, -1)),
      "",
    );
    if (found.more && !isInterrupted) printFaint("more: raise -n");
  }
  if (isEmpty && !isInterrupted) {
    const hint = args.some((word) => /\s/.test(word)) ? "; without quotes, the words may be anywhere in the job" : "";
    throw new NotFoundError(`No job found ${shown}${hint}`);
  }
  return found.work.end();
}

/** Rows read at once. */
const PAGE_SIZE = 500;

const COLUMNS: readonly Column[] = [
  { heading: "jid", is: "whole" },
  { heading: "state", is: "whole", isState: true },
  { heading: "when", is: "optional" },
  { heading: "queue", is: "optional" },
  "job",
  "error or result",
];

interface Search {
  readonly limit: number;
  readonly work: SearchWork;
}

interface Found {
  readonly entries: readonly Entry[];
  readonly finished: readonly EndedJob[];
  readonly more: boolean;
}

/** Searches in the store, which reads no payload that lacks the text. */
async function searchText(store: Store, text: string, { limit, work: { watch } }: Search): Promise<Found> {
  // One more than shown tells whether there are more.
  const [entries, { records }] = await Promise.all([
    store.jobs.find({ text, limit: limit + 1, ...watch }),
    store.results.read({ text, limit: limit + 1, ...watch }),
  ]);
  return {
    entries: entries.slice(0, limit),
    finished: records.slice(0, limit).map(readEnded),
    more: entries.length > limit || records.length > limit,
  };
}

async function searchFiltered(store: Store, filter: JobFilter, search: Search): Promise<Found> {
  const { limit, work } = search;
  const entries: Entry[] = [];
  for (const state of STATES) {
    const { places } = await placesOf(store, state, undefined);
    for (const place of places) {
      if (entries.length > limit || work.signal.aborted) break;
      await readAll(entries, jobsIn({ store }, { place, filter }), search);
    }
  }
  const records: (Finished | undefined)[] = [];
  // A word as the only criterion has one page.
  const criteria = limit === Infinity ? { class: "*", ...filter } : filter;
  if (!work.signal.aborted) await readAll(records, finishedJobs({ store }, criteria), search);
  const finished = records.flatMap((one) => one?.job ?? []);
  return {
    entries: entries.slice(0, limit),
    finished: finished.slice(0, limit),
    more: entries.length > limit || finished.length > limit,
  };
}

/** Adds matching rows, page by page: at most one more than the limit, which tells whether there are more. */
async function readAll<Row>(rows: Row[], source: Source<Row>, { limit, work }: Search): Promise<void> {
  const { signal } = work;
  let cursor: string | undefined;
  do {
    const size = Math.min(limit + 1 - rows.length, PAGE_SIZE);
    const found = await page(work.through(source), systemClock, { limit: size, cursor, signal });
    rows.push(...found.rows);
    cursor = found.next;
  } while (cursor !== undefined && rows.length <= limit && !signal.aborted);
}

function entryRow(entry: Entry, now: number): unknown[] {
  const { jid = "", queue = "", call, failure } = glance(entry);
  const named = entry.place.in === "queue" ? entry.place.queue : queue;
  return [jid, stateOfPlace(entry.place), localTime(entry.at, now), named, call, failure];
}

function waitingRow({ node }: WaitingNode, now: number): unknown[] {
  return [node.jid, "waiting", localTime(node.changedAt, now), node.queue, nodeCall(node), ""];
}

function finishedRow(job: EndedJob, now: number): unknown[] {
  return [job.jid, finishedState(job), localTime(job.endedAt, now), job.queue, finishedCall(job), resultText(job)];
}
