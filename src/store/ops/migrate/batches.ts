/**
 * Migrates batches and flows: their counters and graphs. Their members are jobs, which `jobs.ts` moves.
 *
 * @module
 */
import type { Store } from "../../admin/store.ts";
import { checkBatch } from "../batch_check.ts";
import { type Batch, TEND_LIMIT } from "../../port/batches.ts";

const PAGE = 500;

/** The versions of batches when they were copied, by ID; undefined if the target had the batch already. */
export type CopiedBatches = ReadonlyMap<string, number | undefined>;

/** Copies the batches and flows before their members. The target keeps those that it already has. */
export async function copyBatches(from: Store, to: Store): Promise<CopiedBatches> {
  const copied = new Map<string, number | undefined>();
  // No worker of the source is online: nodes that are due become jobs here, and migrate as such.
  while ((await from.batches.tend(TEND_LIMIT, "nodes")).more);
  for await (const { id, flow, version } of allBatches(from)) {
    copied.set(id, (await to.batches.read({ ids: [id] })).batches[0] === undefined ? version : undefined);
    await to.transfer.put("batch", (await from.transfer.read("batch", { ids: [id] })).rows);
    if (flow) await copyNodes(from, to, id);
  }
  return copied;
}

/**
 * Removes the batches and flows. First copies those opened since the last copy, whose members are migrated, and applies to
 * those copied before what programs have changed since: more members, and the end.
 *
 * @param copied the result of the first copy
 * @returns whether a program has changed one since that copy
 */
export async function removeBatches(from: Store, to: Store, copied: CopiedBatches): Promise<boolean> {
  await copyBatches(from, to);
  let hasChanged = false;
  const all = await Array.fromAsync(allBatches(from));
  for (const { id, version, closedAt, state } of all) {
    const isNew = !copied.has(id);
    const before = copied.get(id);
    hasChanged ||= isNew || (before !== undefined && before !== version);
    if (isNew || before === version) continue;
    await checkBatch(to, id);
    const as = state === "cancelled" || state === "abandoned" ? state : "closed";
    if (closedAt !== undefined) await to.batches.close(id, as);
  }
  await from.transfer.drop("batch", all);
  return hasChanged;
}

async function copyNodes(from: Store, to: Store, id: string): Promise<void> {
  for (let cursor: string | undefined;;) {
    const { rows, next } = await from.transfer.read("node", { ids: [id], ...(cursor !== undefined && { cursor }) });
    await to.transfer.put("node", rows);
    if ((cursor = next) === undefined) return;
  }
}

async function* allBatches(store: Store): AsyncGenerator<Batch> {
  for (const flows of [false, true]) {
    for (let cursor: string | undefined;;) {
      const { batches, next } = await store.batches.read({
        flows,
        limit: PAGE,
        ...(cursor !== undefined && { cursor }),
      });
      yield* batches;
      if ((cursor = next) === undefined) break;
    }
  }
}
