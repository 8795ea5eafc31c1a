/**
 * `jobs list waiting`: nodes of flows that wait for others.
 *
 * @module
 */
import type { Mask } from "../../text/mask.ts";
import { maskedNode } from "../shared/masked.ts";
import { systemClock } from "../../clock.ts";
import { waitingNodes, type WaitingStore } from "../../operator/query/waiting_nodes.ts";
import { WAITING_COLUMNS, waitingJson } from "../../text/flows.ts";
import { describeFilterFlags, type FilterFlags, hasFilter, parseFilter } from "../shared/filter_flags.ts";
import { ListWriter } from "../shared/list_writer.ts";

/** Lists waiting nodes, those of the latest flow first. Returns the exit code. */
export async function listWaiting(
  store: WaitingStore,
  { flags, limit, json, mask }: {
    readonly flags: FilterFlags;
    readonly limit: number;
    readonly json: boolean;
    readonly mask: Mask;
  },
): Promise<number> {
  const writer = new ListWriter(json, WAITING_COLUMNS, waitingJson);
  let left = limit;
  for await (const found of waitingNodes(store, parseFilter(flags, systemClock.now()))) {
    writer.write(found.slice(0, left).map((one) => maskedNode(one, mask)));
    left -= found.length;
    if (left <= 0) break;
  }
  writer.end(undefined, hasFilter(flags) ? `No waiting nodes ${describeFilterFlags(flags)}` : "No waiting nodes");
  return 0;
}
