/** `jobs events`: prints what has ended. @module */
import { systemClock } from "../../clock.ts";
import { EVENT_TYPES, type EventFilter, type JobEvent, wrongType } from "../../job/event.ts";
import { untilStopped } from "../../server/control/signals.ts";
import { followEvents, READER_KEEP_MS, readEvents } from "../../store/ops/events.ts";
import { eventJson, eventLine } from "../../text/events.ts";
import { Mask } from "../../text/mask.ts";
import { withStore } from "../shared/store.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { print, printError, printExact } from "../terminal/output.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs events [OPTION …]

Prints the events that are kept: jobs, batches and flows that have ended,
missed runs of cron entries, offline workers. Each is written in the step that
ends its subject. While something reads them, and for an hour after, the store
records events; for longer with the setting retention.events.

  -f, --follow           wait for more, from now on unless --after says where
      --after ID         begin after the event with this ID
      --type TYPE        only events of this type:
                         ${EVENT_TYPES.slice(0, 5).join(", ")},
                         ${EVENT_TYPES.slice(5).join(", ")}
  -c, --class CLASS      only of these jobs; * stands for any characters
  -q, --queue QUEUE      only of jobs that name this queue; likewise
      --batch ID         only of this batch or flow and its jobs
      --tag TAG          only of jobs and batches with this tag
      --json             print a line of JSON per event

Each filter may be repeated. A line "gap" says that events are missing: they
were no longer kept, or nothing was recorded.

Examples
  jobs events --follow --type dead
  jobs events --follow --json --after 1849305600123904`;

const FILTER_FLAGS = {
  type: { takes: "list" },
  class: { takes: "list", short: "c" },
  queue: { takes: "list", short: "q" },
  batch: { takes: "list" },
  tag: { takes: "list" },
} as const;
const FLAGS = {
  ...COMMON_FLAGS,
  ...FILTER_FLAGS,
  follow: { takes: "switch", short: "f" },
  after: { takes: "text" },
} as const;

/** Prints the events. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("events", argv, FLAGS, "");
  const after = flags.after === undefined ? undefined : idOf(flags.after);
  const filter = filterOf(flags);
  return await withStore(flags, async (store, { webMask }) => {
    const mask = new Mask(webMask, true);
    const show = (events: readonly JobEvent[]) => {
      for (const event of events) {
        if (flags.json) printExact(JSON.stringify(eventJson(event, mask)));
        else print(eventLine(event, mask));
      }
    };
    if (flags.follow) {
      using stopped = untilStopped();
      const options = { clock: systemClock, after, filter, signal: stopped.signal };
      for await (const { events } of followEvents(store, options)) show(events);
      return 0;
    }
    await store.events.keep(READER_KEEP_MS);
    let count = 0;
    for (let last = after ?? 0;;) {
      const page = await readEvents(store, last, { filter });
      show(page.events);
      count += page.events.length;
      last = page.last;
      if (page.isEnd) break;
    }
    if (count === 0 && !flags.json) printError("jobs: No events are kept; they are recorded for an hour from now on");
    return 0;
  });
}

function idOf(text: string): number {
  if (/^\d{1,16}$/.test(text)) return Number(text);
  throw new UsageError(`Invalid --after "${text}": expected the ID of an event`);
}

function filterOf(flags: { readonly [Name in keyof typeof FILTER_FLAGS]: readonly string[] }): EventFilter {
  const wrong = wrongType(flags.type);
  if (wrong !== undefined) throw new UsageError(`Invalid --type: ${wrong}`);
  const names = Object.keys(FILTER_FLAGS) as (keyof typeof FILTER_FLAGS)[];
  return Object.fromEntries(names.flatMap((name) => flags[name].length === 0 ? [] : [[name, flags[name]]]));
}
