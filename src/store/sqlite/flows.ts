/**
 * Flows: see `FlowStore`.
 *
 * @module
 */
import { nodeOf, type NodeRecord, specOf } from "../ops/flow_record.ts";
import type { BatchRefusal } from "../port/batches.ts";
import type { FlowStore, NewNode, NodePage, NodeRequest } from "../port/flows.ts";
import { numberIn } from "../port/cursor.ts";
import * as counters from "./batch_rows.ts";
import type { Context } from "./context.ts";
import * as flowRows from "./flow_rows.ts";

const COLUMNS = "name, position, spec, followers, needs, state, changed, effect, payload, result";

/** Returns the part. */
export function flowsPart(context: Context): FlowStore {
  return {
    add(id: string, nodes: readonly NewNode[]): Promise<BatchRefusal | undefined> {
      return context.commit.run(() => {
        const refusal = counters.refusal(context, { id });
        if (refusal !== undefined) return refusal;
        const now = context.now();
        const changes = new counters.BatchChanges(context);
        for (const node of nodes) {
          const { name, position, after, followers, payload } = node;
          const isNew = insert(context, id, {
            ...{ name, position, payload, spec: specOf(node), followers: JSON.stringify(followers), changed: now },
            ...{ needs: after.length, state: "waiting", effect: null, result: null },
          });
          if (!isNew) continue;
          changes.note(id, undefined, "pending");
          changes.noteWaiting(id, 1);
        }
        changes.apply(now);
        return undefined;
      }, { rows: nodes.length });
    },

    nodes(id: string, request: NodeRequest = {}): Promise<NodePage> {
      const shown = (row: NodeRecord) => nodeOf(request.results ? row : { ...row, result: null });
      return context.read(() => {
        if ("names" in request) {
          const rows = request.names.map((name) => flowRows.nodeRow(context, id, name));
          return { nodes: rows.filter((row) => row !== undefined).map(shown) };
        }
        const { cursor, limit = 100 } = request;
        const rows = records(context, id, cursor, limit + 1);
        const nodes = rows.slice(0, limit).map(shown);
        return { nodes, ...(rows.length > limit && { next: `${nodes.at(-1)!.position}` }) };
      });
    },

    async spread(limit: number): Promise<boolean> {
      // A transaction costs a write to the disk, and most of the time nothing is left to do.
      if (!await context.read(() => flowRows.hasPending(context))) return false;
      return await context.commit.run(() => new counters.BatchChanges(context).spread(limit, context.now()), {
        rows: limit,
      });
    },
  };
}

/** Returns the nodes after a position. */
export function records(context: Context, id: string, cursor: string | undefined, limit: number): NodeRecord[] {
  return context.sql(
    `SELECT ${COLUMNS} FROM flow_node WHERE flow = ? AND position > ? ORDER BY position LIMIT ?`,
  ).all(id, numberIn(cursor) ?? -1, limit) as unknown as NodeRecord[];
}

/** Stores a node. Returns false if it is stored already. */
export function insert(context: Context, id: string, node: NodeRecord): boolean {
  const { name, position, spec, followers, needs, state, changed, effect, payload, result } = node;
  const { changes } = context.sql(
    `INSERT OR IGNORE INTO flow_node (flow, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(id, name, position, spec, followers, needs, state, changed, effect, payload, result);
  return Number(changes) === 1;
}
