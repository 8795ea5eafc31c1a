/**
 * Queues → leases.
 *
 * @module
 */
import { ByteBudget } from "../port/batch_bytes.ts";
import type { Lease, TakeRequest } from "../port/jobs.ts";
import type { Context } from "./context.ts";
import { leaseOldest, type Take } from "./leasing.ts";
import * as limits from "./limits.ts";
import { areAllPaused, openQueue } from "./queues.ts";
import { leaseInTurn } from "./turns.ts";

/** See `JobStore.take`. No reply can be lost: the store is in this process. */
export function take(context: Context, { queues, limit, worker, minTurn = 1 }: TakeRequest): Promise<Lease[]> {
  if (limit < 1) return Promise.resolve([]);
  return context.commit.run(() => {
    const take: Take = { worker, number: context.newTake(), minTurn, budget: new ByteBudget(), leases: [] };
    if (areAllPaused(context)) return take.leases;
    for (const name of queues) {
      const left = limit - take.leases.length;
      if (left <= 0 || take.budget.isSpent) break;
      const open = openQueue(context, name);
      if (open === undefined) continue;
      const { id, limit: limited } = open;
      if (limited) limits.settle(context, limited);
      const most = limited ? Math.min(left, limits.room(context, limited)) : left;
      const count = open.hasGroups
        ? leaseInTurn(context, { id, name }, most, take)
        : leaseOldest(context, id, name, most, take);
      if (limited && count > 0) limits.note(context, limited, count);
    }
    return take.leases;
  }, { rows: limit, deferrable: true });
}
