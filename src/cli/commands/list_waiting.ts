/**
 * `jobs list waiting`: nodes of flows that wait for others.
 *
 * @module
 */
import type { Mask } from "../../text/mask.ts";
import { maskedNode } from "../shared/masked.ts";
import { systemClock } from "../../clock.ts";
import { type WaitingNode, waitingNodes, type WaitingStore } from "../../operator/query/waiting_nodes.ts";
import { waitingJson, waitText } from "../../text/flows.ts";
import { localTime } from "../../text/times.ts";
import { describeFilterFlags, type FilterFlags, hasFilter, parseFilter } from "../shared/filter_flags.ts";
import { ListWriter } from "../shared/list_writer.ts";
import type { Column } from "../terminal/table.ts";
import { glance } from "../top/job_summary.ts";

const COLUMNS: readonly Column[] = [
  { heading: "jid", is: "whole" },
  { heading: "since", is: "optional" },
  { heading: "queue", is: "optional" },
  "job",
  "waits for",
];

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
  const now = systemClock.now();
  const writer = new ListWriter(json, COLUMNS);
  let left = limit;
  for await (const found of waitingNodes(store, parseFilter(flags, now))) {
    const shown = found.slice(0, left).map((one) => maskedNode(one, mask));
    writer.write(shown, waitingJson, (one) => waitingRow(one, now));
    left -= found.length;
    if (left <= 0) break;
  }
  writer.end(undefined, hasFilter(flags) ? `No waiting nodes ${describeFilterFlags(flags)}` : "No waiting nodes");
  return 0;
}

/** Returns the job of a waiting node: `Load("a")`. */
export function waitingCall({ payload = "" }: WaitingNode["node"]): string {
  return glance({ payload }).call;
}

function waitingRow({ node }: WaitingNode, now: number): unknown[] {
  return [node.jid, localTime(node.changedAt, now), node.queue, waitingCall(node), waitText(node)];
}
