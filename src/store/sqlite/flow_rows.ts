/**
 * The nodes of flows, as the ends of jobs change them. All of it inside transactions.
 *
 * @module
 */
import type { Counted, MemberEnd } from "../../job/batch.ts";
import { type Effect, effectOf, type NodeState } from "../../job/flow.ts";
import type { NodeRecord, NodeSpec } from "../ops/flow_record.ts";
import type { BatchChanges } from "./batch_rows.ts";
import type { Context } from "./context.ts";
import * as newJobs from "./new_jobs.ts";

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
}

/** Returns the row of a node. */
export function nodeRow(context: Context, flow: string, name: string): NodeRow | undefined {
  return context.sql("SELECT * FROM flow_node WHERE flow = ? AND name = ?").get(flow, name) as
    | NodeRow
    | undefined;
}

/** Notes the new state of a node, and its effect on the nodes after it, which `spread` applies. */
export function change(context: Context, { flow, node, to, result }: NodeChange, now: number): void {
  const row = nodeRow(context, flow, node);
  if (row === undefined) return;
  context.sql("UPDATE flow_node SET state = ?, changed = ?, result = coalesce(?, result) WHERE id = ?")
    .run(to, now, result ?? null, row.id);
  affect(context, row, to);
}

/** Starts the nodes that wait for none. */
export function start(context: Context, flow: string): void {
  add(context, flow, START, "run");
}

/** Cancels every node that waits. */
export function cancel(context: Context, flow: string): void {
  add(context, flow, ALL, "cancel");
}

/** Returns whether effects of ended nodes are yet to be applied. */
export function hasPending(context: Context): boolean {
  return context.sql("SELECT 1 FROM flow_pending LIMIT 1").get() !== undefined;
}

/** Pushes and cancels nodes whose time has come, at most `limit`. Returns whether more is left. */
export function spread(context: Context, limit: number, step: Step): boolean {
  for (let left = limit; left > 0;) {
    const next = context.sql("SELECT * FROM flow_pending ORDER BY id LIMIT 1").get() as PendingRow | undefined;
    if (next === undefined) return false;
    left -= work(context, next, left, step);
  }
  return hasPending(context);
}

/** Removes nodes of a flow, at most `limit`. Returns whether more are left. */
export function remove(context: Context, flow: string, limit: number): boolean {
  const { sql } = context;
  sql("DELETE FROM flow_pending WHERE flow = ?").run(flow);
  const { changes } = sql(
    "DELETE FROM flow_node WHERE id IN (SELECT id FROM flow_node WHERE flow = ? LIMIT ?)",
  ).run(flow, limit);
  return Number(changes) === limit;
}

/** Applies one effect, to at most `limit` nodes. Returns how much of the limit it used. */
function work(context: Context, { id, flow, source, effect, position }: PendingRow, limit: number, step: Step): number {
  const { sql } = context;
  const batch = sql("SELECT closed_as FROM batch WHERE id = ?").get(flow);
  const names = batch === undefined ? [] : followers(context, flow, source, position, limit);
  // Nothing of a flow that has been cancelled starts.
  const isCancelled = batch?.closed_as !== "closed";
  for (const { name } of names) reach(context, flow, { name, source }, isCancelled ? "cancel" : effect, step);
  if (names.length < limit) sql("DELETE FROM flow_pending WHERE id = ?").run(id);
  else sql("UPDATE flow_pending SET position = ? WHERE id = ?").run(names.at(-1)!.position + 1, id);
  return Math.max(1, names.length);
}

function followers(
  context: Context,
  flow: string,
  source: string,
  from: number,
  limit: number,
): { name: string; position: number }[] {
  const { sql } = context;
  if (source === START || source === ALL) {
    const condition = source === START ? "AND needs = 0" : "";
    return sql(
      `SELECT name, position FROM flow_node WHERE flow = ? AND position >= ? AND state = 'waiting' ${condition}
       ORDER BY position LIMIT ?`,
    ).all(flow, from, limit) as { name: string; position: number }[];
  }
  const row = sql("SELECT followers FROM flow_node WHERE flow = ? AND name = ?").get(flow, source);
  const names = row === undefined ? [] : JSON.parse(row.followers as string) as string[];
  return names.slice(from, from + limit).map((name, i) => ({ name, position: from + i }));
}

/** Applies the effect of a node to one after it. */
function reach(
  context: Context,
  flow: string,
  { name, source }: { name: string; source: string },
  effect: Effect,
  step: Step,
): void {
  const row = nodeRow(context, flow, name);
  if (row?.state !== "waiting") return;
  if (effect === "cancel") {
    setState(context, row, "cancelled", step.now);
    step.changes.note(flow, "pending", "cancelled");
    step.changes.noteWaiting(flow, -1);
    // The end of the flow reaches every node by itself.
    if (source !== ALL) affect(context, row, "cancelled");
    return;
  }
  const needs = source === START ? 0 : row.needs - 1;
  context.sql("UPDATE flow_node SET needs = ? WHERE id = ?").run(needs, row.id);
  if (needs > 0) return;
  setState(context, row, "pending", step.now);
  step.changes.noteWaiting(flow, -1);
  release(context, row, step.now);
}

function release(context: Context, { spec, payload }: NodeRow, now: number): void {
  const { jid, queue, group, delayMs = 0, at = 0 } = JSON.parse(spec) as NodeSpec;
  const due = Math.max(at, now + delayMs);
  const job = { jid, queue, payload: payload!, ...(group !== undefined && { group }) };
  newJobs.store(context, [due > now ? { ...job, at: due } : job], now);
}

function setState(context: Context, { id }: NodeRow, state: NodeState, now: number): void {
  context.sql("UPDATE flow_node SET state = ?, changed = ?, payload = NULL WHERE id = ?").run(state, now, id);
}

/** Notes the effect of a node in this state on those after it, once. */
function affect(context: Context, { id, flow, name, spec, effect, followers }: NodeRow, state: NodeState): void {
  if (effect !== null || followers === "[]") return;
  const found = effectOf(state, (JSON.parse(spec) as NodeSpec).onDead);
  if (found === undefined) return;
  context.sql("UPDATE flow_node SET effect = ? WHERE id = ?").run(found, id);
  add(context, flow, name, found);
}

function add(context: Context, flow: string, source: string, effect: Effect): void {
  context.sql("INSERT OR IGNORE INTO flow_pending (flow, source, effect) VALUES (?, ?, ?)")
    .run(flow, source, effect);
}
