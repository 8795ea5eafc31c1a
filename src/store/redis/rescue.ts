/**
 * Leases of dead processes → the front of their queues, or `dead`.
 *
 * @module
 */
import { nextRescue } from "../../job/fields.ts";
import { setFields } from "../../job/raw.ts";
import { MAX_BATCH_BYTES } from "../batch_bytes.ts";
import type { RescueResult } from "../store.ts";
import type { Context } from "./context.ts";
import { jidOf } from "./moves.ts";
import { SCRIPTS } from "./script.ts";

interface RescueRequest {
  readonly limit: number;
  readonly maxRescues: number;
  /** How long a heartbeat counts. */
  readonly ttlMs: number;
}

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
    if (isDone) return { ...total, owners: [...owners] };
  }
}

/** One step. Nobody is dead who merely could not reach Redis: when it was away, all are given time to beat. */
async function rescueSome(context: Context, { limit, maxRescues, ttlMs }: RescueRequest): Promise<RescueResult> {
  const { link, offset, deadLimits } = context;
  // What is asked while the connection is away is answered in the moment it is back: before anybody could beat.
  if (!link.connected) return { rescued: 0, buried: 0, owners: [] };
  const losses = link.losses;
  const orphans = await link.run(SCRIPTS.orphans, [], [
    offset(),
    `${limit}`,
    `${ttlMs}`,
    `${MAX_BATCH_BYTES}`,
  ]) as string[][];
  if (orphans.length === 0 || link.losses !== losses) return { rescued: 0, buried: 0, owners: [] };
  const args: string[] = [offset(), ...deadLimits];
  for (const [owner, ...leases] of orphans) {
    args.push(owner!, `${leases.length / 2}`);
    for (let i = 0; i < leases.length; i += 2) args.push(leases[i]!, ...fate(leases[i + 1]!, maxRescues));
  }
  const reply = await link.run(SCRIPTS.rescue, [], args) as [number, number, ...string[]];
  const [rescued, buried, ...owners] = reply;
  return { rescued, buried, owners };
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
