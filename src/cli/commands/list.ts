/** `jobs list STATE`. @module */
import { Mask } from "../../text/mask.ts";
import { maskedEntry } from "../shared/masked.ts";
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import type { Entry, Place } from "../../store/port/entries.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { CursorError } from "../../store/port/cursor.ts";

import { jobsIn } from "../../operator/query/jobs.ts";
import { type Page, page } from "../../store/ops/scan.ts";
import { jobJson } from "../../text/job_json.ts";
import { isSidekiqWorker } from "../../text/workers.ts";
import { reportsByJid } from "../top/running_jobs.ts";
import { COMMON_FLAGS, parseCommand, parseLimit } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import {
  describeFilterFlags,
  FILTER_FLAGS,
  FILTER_HELP,
  FILTER_NAMES,
  type FilterFlags,
  hasFilter,
  parseFilter,
} from "../shared/filter_flags.ts";
import { jobRow, reportJson } from "../shared/job_rows.ts";
import { jobColumns, type State } from "../../text/jobs.ts";
import { placesOf, STATES } from "../../operator/actions/places.ts";
import { parseState } from "../shared/states.ts";
import { SearchWork } from "../shared/search_work.ts";
import { ListWriter } from "../shared/list_writer.ts";
import { listFinished } from "./list_finished.ts";
import { GROUPS_USAGE, listGroups } from "./list_groups.ts";
import { listSignals, SIGNALS_USAGE } from "./list_signals.ts";
import { listWaiting } from "./list_waiting.ts";
import { printError } from "../terminal/output.ts";
import { withStore } from "../shared/store.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs list STATE [FILTER …] [OPTION …]
       jobs list groups QUEUE [-n N] [--cursor CURSOR]
       jobs list signals [KEY] [-n N] [--cursor CURSOR]

Lists the jobs in a state: queued, scheduled, retrying, dead, running, waiting
or finished. Queued jobs are in the order in which workers fetch them, others
earliest first, finished ones latest first. Finished jobs are known for as
long as the settings retention.* say. Waiting jobs are nodes of flows that wait
for others; --cursor and --reverse don't apply to them.

"groups" lists the groups of a queue that have jobs or a separate limit,
with the number of running jobs of each, and why it is held.

"signals" lists the jobs that wait for a signal, such as an approval
(ctx.waitFor), with key, since when and until when, the first to time out
first. In KEY, * stands for any characters. jobs signal sends one.

${FILTER_HELP}

  -n, --limit N|all      show this many (25)
      --cursor CURSOR    continue after a page: its last line has the cursor
  -r, --reverse          latest first

Examples
  jobs list dead --class ImportFile --newer-than 1d
  jobs list queued -q mail -n 100
  jobs list signals 'order:*'
  jobs list retrying --error 'Timeout*' --limit all --json`;

const LISTS = [...STATES, "waiting", "finished"] as const;

/** Reads at most this many jobs at once, whatever `--limit` is. */
const PAGE_SIZE = 500;

/** Lists jobs. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [list, queue] } = parseCommand("list", argv, {
    ...COMMON_FLAGS,
    ...FILTER_FLAGS,
    limit: { takes: "text", short: "n" },
    cursor: { takes: "text" },
    reverse: { takes: "switch", short: "r" },
  }, "STATE [QUEUE|KEY]");
  if (list === "groups" || list === "signals") {
    const usage = list === "groups" ? GROUPS_USAGE : SIGNALS_USAGE;
    const unused = [...FILTER_NAMES, "reverse" as const].find((name) =>
      flags[name] !== undefined && flags[name] !== false
    );
    if (unused !== undefined) throw new UsageError(`--${unused} doesn't apply to ${list}. Usage: ${usage}`);
    return list === "groups" ? await listGroups(queue, flags) : await listSignals(queue, flags);
  }
  if (queue !== undefined) throw new UsageError(`Unexpected argument "${queue}"; did you mean -q ${queue}?`);
  if (list === "queues" || list === "workers" || list === "cron") {
    throw new UsageError(`"${list}" isn't a state; did you mean jobs ${list === "cron" ? "cron list" : list}?`);
  }
  const state = parseState("state", list!, LISTS);
  const limit = parseLimit(flags.limit);
  if (state === "finished" && flags.reverse) throw new UsageError("--reverse doesn't apply to finished jobs");
  if (state === "waiting" && (flags.reverse || flags.cursor !== undefined)) {
    throw new UsageError(`--${flags.reverse ? "reverse" : "cursor"} doesn't apply to waiting nodes; raise -n`);
  }
  return await withStore(flags, async (store, { webMask }) => {
    const options = { ...flags, limit, flags, mask: new Mask(webMask, true) };
    if (state === "waiting") return await listWaiting(store, options);
    if (state === "finished") return await listFinished(store, options);
    return await listState(store, state, options);
  });
}

interface ListOptions {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly reverse: boolean;
  readonly json: boolean;
  readonly flags: FilterFlags;
  readonly mask: Mask;
}

async function listState(store: Store, state: State, options: ListOptions): Promise<number> {
  const { reverse, json, flags, mask } = options;
  const now = systemClock.now();
  const { places, queue } = await placesOf(store, state, flags.queue);
  const filter = { ...parseFilter({ ...flags, queue: undefined }, now), ...(queue !== undefined && { queue }) };
  const workers = state === "running" ? await store.workers.list() : [];
  const reports = { running: reportsByJid(workers), mask };
  const columns = jobColumns(state, (entry: Entry) => jobRow(entry, reports));
  const writer = new ListWriter(
    json,
    columns,
    (entry: Entry) => ({ ...jobJson(entry), ...reportJson(entry, reports) }),
  );
  let left = options.limit;
  let next = options.cursor;
  using work = new SearchWork({ drawn: hasFilter(flags) });
  const { signal } = work;
  for (let at: Position | undefined = startOf(places, next); at !== undefined && left > 0 && !signal.aborted;) {
    const source = jobsIn({ store }, { place: at.place, filter, reverse });
    const limit = Math.min(left, PAGE_SIZE);
    const found: Page<Entry> = await page(work.through(source), systemClock, { cursor: at.cursor, limit, signal });
    left -= found.rows.length;
    work.clear();
    writer.write(found.rows.map((entry) => maskedEntry(entry, mask)));
    at = found.next === undefined ? following(places, at) : { place: at.place, cursor: found.next };
    next = at && cursorOf(at, places);
  }
  work.clear();
  const runInSidekiq = inSidekiq(workers);
  // A job that waits for a person is due when it gives up.
  const signals = state === "scheduled" ? (await store.admin.stats()).waits.wait : undefined;
  writer.end(next, hasFilter(flags) ? `No ${state} jobs ${describeFilterFlags(flags)}` : `No ${state} jobs`, {
    runInSidekiq,
    signals,
  });
  if (signal.aborted) return work.end();
  if (runInSidekiq !== undefined && !json) {
    printError(`jobs: ${runInSidekiq} more run in Sidekiq's workers (jobs workers --json)`);
  }
  if (signals !== undefined && signals > 0 && !json) {
    printError("jobs: some wait for a signal until then: jobs list signals");
  }
  return 0;
}

/** Where a list continues: queued jobs are spread over several places. */
interface Position {
  readonly place: Place;
  readonly cursor?: string | undefined;
}

function startOf(places: readonly Place[], cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return places[0] && { place: places[0] };
  const [, name, inner] = /^queue=([^/]+)\/(.*)$/s.exec(cursor) ?? [];
  if (name === undefined) {
    if (places.length > 1) throw new CursorError(cursor);
    return places[0] && { place: places[0], cursor };
  }
  const place = places.find((one) => orderOf(one) >= name);
  if (place === undefined) return undefined;
  return { place, ...(orderOf(place) === name && inner !== "" && { cursor: inner }) };
}

/** The name of a queue or a group in a cursor. A space sorts before any character of a queue's name. */
function orderOf(place: Place): string {
  return place.in === "queue"
    ? encodeURIComponent(place.queue) + (place.group === undefined ? "" : ` ${encodeURIComponent(place.group)}`)
    : "";
}

function following(places: readonly Place[], { place }: Position): Position | undefined {
  const next = places[places.indexOf(place) + 1];
  return next && { place: next };
}

function cursorOf({ place, cursor }: Position, places: readonly Place[]): string | undefined {
  return place.in === "queue" && places.length > 1 ? `queue=${orderOf(place)}/${cursor ?? ""}` : cursor;
}

/** Sidekiq's workers hold no lease on the jobs they run, so that no list has them. Returns undefined for none. */
function inSidekiq(workers: readonly WorkerInfo[]): number | undefined {
  return workers.filter(isSidekiqWorker).reduce((sum, worker) => sum + worker.busy, 0) || undefined;
}
