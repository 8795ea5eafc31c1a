/**
 * Compares a store with the model at a quiet point, and at the end.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { BATCH_EVENTS, type BatchEvent, countedIn } from "../../../src/job/batch.ts";
import type { Store } from "../../../src/store/admin/store.ts";
import type { Batch } from "../../../src/store/port/batches.ts";
import { entries } from "../../store_contract/jobs.ts";
import { boundsOf, type Counter, type ModelBatch, nodeStates, noteDue } from "./model.ts";

/** The observations of the program. */
export interface Seen {
  /** The jids of callbacks, in the order in which they were taken from their queue. */
  readonly callbacks: readonly string[];
  /** The lines that handlers noted. */
  readonly notes: readonly string[];
}

/** Asserts that batches are as the model has them. A parent precedes its children in `batches`. */
export async function checkBatches(store: Store, batches: readonly ModelBatch[], seen: Seen): Promise<void> {
  assertEquals(new Set(seen.callbacks).size, seen.callbacks.length, "each callback is pushed once");
  const pushed = new Set(seen.callbacks);
  const dead = await deadMembers(store);
  const stored = new Map<string, Batch>();
  // Children first: the state of a parent follows from theirs.
  for (const batch of batches.toReversed()) {
    const row = (await store.batches.read({ ids: [batch.id] })).batches[0];
    assert(row !== undefined, `batch ${batch.id} exists`);
    stored.set(batch.id, row);
    checkCounters(batch, row, stored);
    assertEquals(row.dead - deadChildren(batch, stored), dead.get(batch.id) ?? 0, `dead members of ${batch.id}`);
    noteDue(batch, row);
    const expected = BATCH_EVENTS.filter((event) => batch.events.includes(event) && batch.due.has(event));
    const isPushed = (event: BatchEvent) =>
      row.callbacks.some((callback) => callback.event === event && callback.pushedAt !== undefined);
    assertEquals(BATCH_EVENTS.filter(isPushed), expected, `callbacks shown of ${batch.id}: ${JSON.stringify(row)}`);
    // A cancel of the parent cancels callbacks that are queued.
    const canMiss = batch.parent?.closedAs === "cancelled";
    const found = BATCH_EVENTS.filter((event) =>
      pushed.has(`${batch.id}-${event}`) || canMiss && expected.includes(event)
    );
    assertEquals(found, expected, `callbacks of ${batch.id}: ${JSON.stringify(row)}`);
    if (batch.nodes !== undefined) await checkNodes(store, batch, seen.notes);
  }
}

function checkCounters(batch: ModelBatch, row: Batch, stored: ReadonlyMap<string, Batch>): void {
  const { least, most } = boundsOf(batch, stored);
  const describe = () => `batch ${batch.id}: ${JSON.stringify({ row, least, most, how: [...batch.members.values()] })}`;
  for (const counter of Object.keys(least) as Counter[]) {
    assert(least[counter] <= row[counter] && row[counter] <= most[counter], `${counter} of ${describe()}`);
  }
  const { pending, succeeded, failed, cancelled, expired, deleted } = row;
  assertEquals(pending + row.dead + succeeded + failed + cancelled + expired + deleted, row.total, describe());
}

/** Returns how many of a batch's dead members are batches. */
function deadChildren({ children }: ModelBatch, stored: ReadonlyMap<string, Batch>): number {
  return children.map(({ id }) => stored.get(id)!)
    .filter(({ closedAt, pending, dead }) => closedAt !== undefined && pending === 0 && dead > 0).length;
}

/** Counts the jobs in the dead set that say that their batch counts them as dead. */
async function deadMembers(store: Store): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { payload } of await entries(store, { in: "dead" })) {
    const member = countedIn(payload);
    if (member === undefined) continue;
    assertEquals(member.counted, "dead", payload);
    counts.set(member.id, (counts.get(member.id) ?? 0) + 1);
  }
  return counts;
}

/** Asserts that nodes are as the model has them, have their results, and ran only after the nodes before them. */
async function checkNodes(store: Store, { id, nodes, closedAs }: ModelBatch, notes: readonly string[]): Promise<void> {
  const found = (await store.flows.nodes(id, { limit: 1_000, results: true })).nodes;
  const states = Object.fromEntries(found.map(({ name, state }) => [name, state]));
  if (closedAs === "cancelled") {
    assert(!Object.values(states).some((state) => state === "waiting" || state === "pending"), JSON.stringify(states));
    return;
  }
  assertEquals(states, Object.fromEntries(nodeStates(nodes!)), `nodes of ${id}`);
  const succeeded = found.filter(({ state }) => state === "succeeded");
  assertEquals(
    succeeded.map(({ result }) => result),
    succeeded.map(({ jid }) => JSON.stringify(jid)),
    `results of ${id}`,
  );
  for (const node of nodes!.values()) {
    const start = notes.indexOf(`start ${node.jid}`);
    for (const name of start < 0 ? [] : node.after) {
      const before = nodes!.get(name)!;
      // One that was cancelled or deleted has perhaps never run.
      if (before.wasEdited || states[name] === "cancelled") continue;
      const end = notes.indexOf(`end ${before.jid}`);
      assert(0 <= end && end < start, `node ${node.name} of ${id} ran after ${name}`);
    }
  }
}

/** Asserts that nothing of any batch or flow is left. */
export async function checkEmpty(store: Store): Promise<void> {
  for (const flows of [false, true]) assertEquals((await store.batches.read({ flows })).batches, []);
  assertEquals((await store.batches.tend(1, "nodes")).more, false);
  const { enqueued, scheduled, retry, dead, running } = await store.admin.stats();
  assertEquals({ enqueued, scheduled, retry, dead, running }, {
    enqueued: 0,
    scheduled: 0,
    retry: 0,
    dead: 0,
    running: 0,
  });
}
