/** `jobs list signals [KEY]`. @module */
import { systemClock } from "../../clock.ts";
import { signalWaits } from "../../operator/query/signal_waits.ts";
import { page } from "../../store/ops/scan.ts";
import { Mask } from "../../text/mask.ts";
import { readWait, SIGNAL_COLUMNS, waitJson } from "../../text/signals.ts";
import { ListWriter } from "../shared/list_writer.ts";
import { withStore } from "../shared/store.ts";
import { parseLimit } from "../terminal/args.ts";
import type { GroupListFlags } from "./list_groups.ts";

/** Completes "Usage: …". */
export const SIGNALS_USAGE = "jobs list signals [KEY] [-n N] [--cursor CURSOR]";

/** Reads at most this many jobs at once, whatever `--limit` is. */
const PAGE_SIZE = 500;

/** Lists the jobs that wait for a signal, the first to time out first. */
export async function listSignals(key: string | undefined, flags: GroupListFlags): Promise<number> {
  let left = parseLimit(flags.limit);
  return await withStore(flags, async (store, { webMask }) => {
    const mask = new Mask(webMask, true);
    const source = signalWaits(store, { key });
    const writer = new ListWriter(flags.json, SIGNAL_COLUMNS, waitJson, "signals");
    let next = flags.cursor;
    do {
      const found = await page(source, systemClock, { cursor: next, limit: Math.min(left, PAGE_SIZE) });
      writer.write(found.rows.map((wait) => readWait(wait, mask)));
      left -= found.rows.length;
      next = found.next;
    } while (left > 0 && next !== undefined);
    writer.end(next, key === undefined ? "No job waits for a signal" : `No job waits for signal "${key}"`);
    return 0;
  });
}
