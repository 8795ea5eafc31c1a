/** `jobs stream JID`: prints the stream of a job while it runs. @module */
import { systemClock } from "../../clock.ts";
import { parseLossless } from "../../job/json.ts";
import { notFoundText } from "../../operator/actions/job_ids.ts";
import { untilStopped } from "../../server/control/signals.ts";
import { followStream, readStream, type StreamItem } from "../../store/ops/streams.ts";
import { withStore } from "../shared/store.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { NotFoundError, UsageError } from "../terminal/errors.ts";
import { printError, printExact, printExactPart } from "../terminal/output.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs stream JID [OPTION …]

Prints the stream of a job (ctx.stream, jobs step stream), until the job has
ended. Texts are printed one after the other, other values as a line of JSON
each. The latest 1 MiB is kept, as long as the record of the job.

      --after N          begin after the chunk with this number
      --no-follow        print what is there, and don't wait for more
      --json             print a line of JSON per chunk: number, run, attempt,
                         chunk; of dropped chunks: gapFrom, and the last number

A job that runs again continues its stream as the next run, which a line on
stderr announces. Exit 1 if the job isn't found.

Examples
  jobs stream 1a1fd5150c39f4ae2f200001
  jobs stream 1a1fd5150c39f4ae2f200001 --json --after 120`;

const FLAGS = { ...COMMON_FLAGS, after: { takes: "text" }, "no-follow": { takes: "switch" } } as const;

/** Prints the stream. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [jid = ""] } = parseCommand("stream", argv, FLAGS, "JID");
  const after = numberOf(flags.after ?? "0");
  return await withStore(flags, async (store) => {
    const first = await readStream(store, jid, after);
    if (first === undefined && (await store.jobs.find([jid])).length === 0) {
      const [record] = (await store.results.read({ jids: [jid] })).records;
      if (record === undefined) throw new NotFoundError(notFoundText(jid, store.url));
    }
    using stopped = untilStopped();
    const printer = new Printer(flags.json);
    if (flags["no-follow"]) {
      let page = first;
      for (let last = after; page !== undefined && page.items.length > 0;) {
        printer.print(page.items);
        last = page.items.at(-1)!.number;
        page = await readStream(store, jid, last);
      }
      return 0;
    }
    const options = { clock: systemClock, after, signal: stopped.signal };
    for await (const items of followStream(store, jid, options)) printer.print(items);
    return 0;
  });
}

function numberOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`Invalid --after "${text}": expected the number of a chunk, from 0`);
}

class Printer {
  readonly #asJson: boolean;
  #run: number | undefined;

  constructor(asJson: boolean) {
    this.#asJson = asJson;
  }

  print(items: readonly StreamItem[]): void {
    for (const item of items) this.#asJson ? printExact(lineOf(item)) : this.#print(item);
  }

  #print(item: StreamItem): void {
    if ("gapFrom" in item) return printError(`jobs: Chunks ${item.gapFrom} to ${item.number} were dropped`);
    if (this.#run !== undefined && item.run !== this.#run) printError(`jobs: Run ${item.run}, attempt ${item.attempt}`);
    this.#run = item.run;
    const value = parseLossless(item.chunk);
    printExactPart(typeof value === "string" ? value : `${item.chunk}\n`);
  }
}

/** Returns an item as JSON. The chunk is JSON already. */
function lineOf(item: StreamItem): string {
  if ("gapFrom" in item) return JSON.stringify(item);
  const { chunk, ...rest } = item;
  return `${JSON.stringify(rest).slice(0, -1)},"chunk":${chunk}}`;
}
