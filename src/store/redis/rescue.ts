/**
 * Leases of offline workers → the front of their queues, or `dead`.
 *
 * @module
 */
import { nextRescue } from "../../job/fields.ts";
import { setFields } from "../../job/raw.ts";
import { MAX_BATCH_BYTES } from "../batch_bytes.ts";
import type { RescueRequest, RescueResult } from "../store.ts";
import type { Context } from "./context.ts";
import { jidOf } from "./moves.ts";
import { SCRIPTS } from "./script.ts";

/** See `Store.rescue`. Works in steps of at most {@linkcode MAX_BATCH_BYTES}. */
export async function rescue(context: Context, request: RescueRequest): Promise<RescueResult> {
  const total = { rescued: 0, buried: 0 };
  const owners = new Set<string>();
  for (;;) {
    const done = total.rescued + total.buried;
    const step = await rescueSome(context, { ...request, limit: request.limit - done });
    total.rescued += step.rescued;
    total.buried += step.buried;
    for (const owner of step.owners) owners.add(owner);
    const isDone = step.rescued + step.buried === 0 || total.rescued + total.buried >= request.limit;
    if (isDone) return { ...total, owners: [...owners], waits: step.waits };
  }
}

/** One step. Both scripts decide by the rule: a worker may beat, or the clock may jump, between the two. */
async function rescueSome(
  { link, offset, deadLimits }: Context,
  { owner: rescuer, limit, maxRescues }: RescueRequest,
): Promise<RescueResult> {
  const read = await link.run(SCRIPTS.orphans, [], [offset(), rescuer, `${limit}`, `${MAX_BATCH_BYTES}`]);
  const [waits, ...orphans] = read as [0 | 1, ...string[][]];
  if (orphans.length === 0) return { rescued: 0, buried: 0, owners: [], waits: waits === 1 };
  const args: string[] = [offset(), rescuer, ...deadLimits];
  for (const [owner, ...leases] of orphans) {
    args.push(owner!, `${leases.length / 2}`);
    for (let i = 0; i < leases.length; i += 2) args.push(leases[i]!, ...fate(leases[i + 1]!, maxRescues));
  }
  const reply = await link.run(SCRIPTS.rescue, [], args) as [number, number, ...string[]];
  const [rescued, buried, ...owners] = reply;
  return { rescued, buried, owners, waits: waits === 1 };
}

/** Where a lease goes, as what (an unreadable payload stays as it is), and whose unique lock is let go. */
function fate(payload: string, maxRescues: number): [where: "back" | "dead", payload: string, unlock: string] {
  try {
    const rescues = nextRescue(payload);
    const counted = setFields(payload, { rescues: `${rescues}` });
    return rescues >= maxRescues ? ["dead", counted, jidOf(payload)] : ["back", counted, ""];
  } catch {
    return ["dead", "", ""];
  }
}
