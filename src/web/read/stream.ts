/**
 * Reads the stream of a job as text, for its page.
 *
 * @module
 */
import { parseLossless, stringifyLossless } from "../../job/json.ts";
import { readStream } from "../../store/ops/streams.ts";
import type { Services } from "../services.ts";

/** Of a longer stream, the end is shown. */
const MAX_SHOWN = 64 * 1024;

/** The stream of a job. */
export interface ShownStream {
  /** Its end, as a terminal would show it. */
  readonly text: string;
  /** The number of its last chunk; 0 if it has none. */
  readonly last: number;
  /** The number of its last run. */
  readonly run: number;
  /** Whether more may follow. */
  readonly isOpen: boolean;
}

/** Reads the stream of a job; undefined if it has none. */
export async function shownStream({ store, mask }: Pick<Services, "store" | "mask">, jid: string): Promise<
  ShownStream | undefined
> {
  let [text, last, run] = ["", 0, 0];
  for (;;) {
    const page = await readStream(store, jid, last);
    if (page === undefined) return undefined;
    for (const item of page.items) {
      last = item.number;
      if ("gapFrom" in item) continue;
      if (run !== 0 && item.run !== run) text += runLine(item.run);
      run = item.run;
      const value = parseLossless(item.chunk);
      text += typeof value === "string" ? value : `${stringifyLossless(mask.value(value))}\n`;
    }
    // A secret may be spread over chunks.
    text = mask.whole.text(text);
    if (text.length > MAX_SHOWN) text = `…${text.slice(-MAX_SHOWN)}`;
    if (page.items.length === 0) return { text, last, run, isOpen: !page.ended };
  }
}

/** The line that separates a run of the job from the one before; `live.js` has the same. */
function runLine(run: number): string {
  return `\n— run ${run} —\n`;
}
