/**
 * The nodes of flows, as the ends of jobs change them.
 *
 * @module
 */
import type { Counted, MemberEnd } from "../../job/batch.ts";
import { type Effect, effectOf, type NodeState } from "../../job/flow.ts";
import type { NodeRecord, NodeSpec } from "../ops/flow_record.ts";
import type { BatchChanges } from "./batch_rows.ts";
import { type Body, type Engine, lock, query, type Statement } from "./body.ts";

/** The start of a flow, whose followers are the nodes that wait for none. */
const START = "";
/** The end of a flow, which cancels every node. */
const ALL = "*";

/** The new state of a node. */
export interface NodeChange {
  readonly flow: string;
  readonly node: string;
  readonly to: Counted | MemberEnd;
  /** Its result, as JSON. */
  readonly result?: string;
}

/** A row of `flow_node`. */
export type NodeRow = NodeRecord & { readonly id: number; readonly flow: string };

interface PendingRow {
  readonly id: number;
  readonly flow: string;
  readonly source: string;
  readonly effect: Effect;
  readonly position: number;
}

/** One step's work on nodes. */
interface Step {
  readonly now: number;
  readonly changes: BatchChanges;
  readonly storeJobs: Engine["storeJobs"];
}

/** Returns the row of a node. */
export function* nodeRow(flow: string, name: string): Body<NodeRow | undefined> {
  const [row] = yield query("SELECT * FROM flow_node WHERE flow = ?1 AND name = ?2", [flow, name]);
  return row as NodeRow | undefined;
}

/** Notes the new state of a node, and its effect on the nodes after it, which `BatchChanges.spread` applies. */
export function* change({ flow, node, to, result }: NodeChange, now: number): Body<void> {
  const row = yield* nodeRow(flow, node);
  if (row === undefined) return;
  yield query(
    "UPDATE flow_node SET state = ?1, changed = ?2, result = coalesce(?3, result) WHERE id = ?4",
    [to, now, result ?? null, row.id],
  );
  yield* affect(row, to);
}

/** Starts the nodes that wait for none. */
export function start(flow: string): Body<void> {
  return add(flow, START, "run");
}

/** Cancels every node that waits. */
export function cancel(flow: string): Body<void> {
  return add(flow, ALL, "cancel");
}

/** Returns whether effects of ended nodes are yet to be applied. */
export function* hasPending(): Body<boolean> {
  return (yield query("SELECT 1 FROM flow_pending LIMIT 1")).length > 0;
}

/** Returns the lock of all flows, which the first change of a batch comes after: in another order, two would wait for each other. */
export function lockAll(): Statement {
  return lock("flows");
}

/** Pushes and cancels nodes whose time has come, at most `limit`. The caller has {@linkcode lockAll}. */
export function* spread(limit: number, step: Step): Body<void> {
  for (let left = limit; left > 0;) {
    const [next] = yield query("SELECT * FROM flow_pending ORDER BY id LIMIT 1");
    if (next === undefined) return;
    left -= yield* work(next as unknown as PendingRow, left, step);
  }
}

/** Removes nodes of a flow, at most `limit`. Returns whether more are left. */
export function* remove(flow: string, limit: number): Body<boolean> {
  yield query("DELETE FROM flow_pending WHERE flow = ?1", [flow]);
  const removed = yield query(
    "DELETE FROM flow_node WHERE id IN (SELECT id FROM flow_node WHERE flow = ?1 LIMIT ?2) RETURNING 1",
    [flow, limit],
  );
  return removed.length === limit;
}

/** Applies one effect, to at most `limit` nodes. Returns how much of the limit it used. */
function* work({ id, flow, source, effect, position }: PendingRow, limit: number, step: Step): Body<number> {
  const [batch] = yield query("SELECT closed_as FROM batch WHERE id = ?1", [flow]);
  const names = batch === undefined ? [] : yield* followers(flow, source, position, limit);
  // Nothing of a flow that has been cancelled starts.
  const isCancelled = batch?.closed_as !== "closed";
  for (const { name } of names) yield* reach(flow, { name, source }, isCancelled ? "cancel" : effect, step);
  if (names.length < limit) yield query("DELETE FROM flow_pending WHERE id = ?1", [id]);
  else yield query("UPDATE flow_pending SET position = ?1 WHERE id = ?2", [names.at(-1)!.position + 1, id]);
  return Math.max(1, names.length);
}

function* followers(
  flow: string,
  source: string,
  from: number,
  limit: number,
): Body<readonly { name: string; position: number }[]> {
  if (source === START || source === ALL) {
    const condition = source === START ? "AND needs = 0" : "";
    const rows = yield query(
      `SELECT name, position FROM flow_node WHERE flow = ?1 AND position >= ?2 AND state = 'waiting' ${condition}
       ORDER BY position LIMIT ?3`,
      [flow, from, limit],
    );
    return rows as unknown as readonly { name: string; position: number }[];
  }
  const [row] = yield query("SELECT followers FROM flow_node WHERE flow = ?1 AND name = ?2", [flow, source]);
  const names = row === undefined ? [] : JSON.parse(row.followers as string) as string[];
  return names.slice(from, from + limit).map((name, i) => ({ name, position: from + i }));
}

/** Applies the effect of a node to one after it. */
function* reach(
  flow: string,
  { name, source }: { name: string; source: string },
  effect: Effect,
  step: Step,
): Body<void> {
  const row = yield* nodeRow(flow, name);
  if (row?.state !== "waiting") return;
  if (effect === "cancel") {
    yield* setState(row, "cancelled", step.now);
    step.changes.note(flow, "pending", "cancelled");
    step.changes.noteWaiting(flow, -1);
    // The end of the flow reaches every node by itself.
    if (source !== ALL) yield* affect(row, "cancelled");
    return;
  }
  const needs = source === START ? 0 : row.needs - 1;
  yield query("UPDATE flow_node SET needs = ?1 WHERE id = ?2", [needs, row.id]);
  if (needs > 0) return;
  yield* setState(row, "pending", step.now);
  step.changes.noteWaiting(flow, -1);
  yield* release(row, step);
}

function* release({ spec, payload }: NodeRow, { now, storeJobs }: Step): Body<void> {
  const { jid, queue, group, delayMs = 0, at = 0 } = JSON.parse(spec) as NodeSpec;
  const due = Math.max(at, now + delayMs);
  const job = { jid, queue, payload: payload!, ...(group !== undefined && { group }) };
  yield* storeJobs([due > now ? { ...job, at: due } : job], now);
}

function* setState({ id }: NodeRow, state: NodeState, now: number): Body<void> {
  yield query("UPDATE flow_node SET state = ?1, changed = ?2, payload = NULL WHERE id = ?3", [state, now, id]);
}

/** Notes the effect of a node in this state on those after it, once. */
function* affect({ id, flow, name, spec, effect, followers }: NodeRow, state: NodeState): Body<void> {
  if (effect !== null || followers === "[]") return;
  const found = effectOf(state, (JSON.parse(spec) as NodeSpec).onDead);
  if (found === undefined) return;
  yield query("UPDATE flow_node SET effect = ?1 WHERE id = ?2", [found, id]);
  yield* add(flow, name, found);
}

function* add(flow: string, source: string, effect: Effect): Body<void> {
  yield query(
    "INSERT INTO flow_pending (flow, source, effect) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
    [flow, source, effect],
  );
}
