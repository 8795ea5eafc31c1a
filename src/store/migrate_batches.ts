/**
 * Migrates batches and flows: their counters and graphs. Their members are jobs, which `migrate.ts` moves.
 *
 * @module
 */
import type { Store } from "./admin/store.ts";
import { SPREAD_LIMIT } from "./port/flows.ts";

const PAGE = 500;

/** Copies the batches and flows before their members. The target keeps those that it already has. */
export async function copyBatches(from: Store, to: Store): Promise<void> {
  // No worker of the source is online: nodes that are due become jobs here, and migrate as such.
  while (await from.flows.spread(SPREAD_LIMIT));
  for await (const { id, flow } of allBatches(from)) {
    const text = await from.batches.exportBatch(id);
    if (text === undefined) continue;
    await to.batches.importBatch(text);
    if (flow) await copyNodes(from, to, id);
  }
}

/** Removes the batches and flows. First copies those opened since the last copy, whose members are migrated. */
export async function removeBatches(from: Store, to: Store): Promise<void> {
  await copyBatches(from, to);
  const ids: string[] = [];
  for await (const { id } of allBatches(from)) ids.push(id);
  for (const id of ids) await from.batches.remove(id);
}

async function copyNodes(from: Store, to: Store, id: string): Promise<void> {
  for (let cursor: string | undefined;;) {
    const part = await from.flows.exportNodes(id, cursor);
    if (part === undefined) return;
    await to.flows.importNodes(id, part.text);
    if ((cursor = part.next) === undefined) return;
  }
}

async function* allBatches(store: Store): AsyncGenerator<{ readonly id: string; readonly flow?: true }> {
  for (const flows of [false, true]) {
    for (let cursor: string | undefined;;) {
      const { batches, next } = await store.batches.page({
        flows,
        limit: PAGE,
        ...(cursor !== undefined && { cursor }),
      });
      yield* batches;
      if ((cursor = next) === undefined) break;
    }
  }
}
