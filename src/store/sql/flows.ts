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
import { type Body, type Engine, query } from "./body.ts";
import * as flowRows from "./flow_rows.ts";

const COLUMNS = "name, position, spec, followers, needs, state, changed, effect, payload, result";

/** Returns the part. */
export function flowsPart({ write, read, storeJobs }: Engine): FlowStore {
  return {
    add(id: string, nodes: readonly NewNode[]): Promise<BatchRefusal | undefined> {
      return write(function* (now) {
        const refusal = yield* counters.refusal({ id });
        if (refusal !== undefined) return refusal;
        const changes = new counters.BatchChanges(storeJobs);
        for (const node of nodes) {
          const { name, position, after, followers, payload } = node;
          const isNew = yield* insert(id, {
            ...{ name, position, payload, spec: specOf(node), followers: JSON.stringify(followers), changed: now },
            ...{ needs: after.length, state: "waiting", effect: null, result: null },
          });
          if (!isNew) continue;
          changes.note(id, undefined, "pending");
          changes.noteWaiting(id, 1);
        }
        yield* changes.apply(now);
        return undefined;
      }, { rows: nodes.length });
    },

    nodes(id: string, request: NodeRequest = {}): Promise<NodePage> {
      const shown = (row: NodeRecord) => nodeOf(request.results ? row : { ...row, result: null });
      return read(function* () {
        if ("names" in request) {
          const rows: NodeRecord[] = [];
          for (const name of request.names) {
            const row = yield* flowRows.nodeRow(id, name);
            if (row !== undefined) rows.push(row);
          }
          return { nodes: rows.map(shown) };
        }
        const { cursor, limit = 100 } = request;
        const rows = yield* records(id, cursor, limit + 1);
        const nodes = rows.slice(0, limit).map(shown);
        return { nodes, ...(rows.length > limit && { next: `${nodes.at(-1)!.position}` }) };
      });
    },
  };
}

/** Returns the nodes after a position. */
export function* records(id: string, cursor: string | undefined, limit: number): Body<readonly NodeRecord[]> {
  const rows = yield query(
    `SELECT ${COLUMNS} FROM flow_node WHERE flow = ?1 AND position > ?2 ORDER BY position LIMIT ?3`,
    [id, numberIn(cursor) ?? -1, limit],
  );
  return rows as unknown as readonly NodeRecord[];
}

/** Stores a node. Returns false if it is stored already. */
export function* insert(id: string, node: NodeRecord): Body<boolean> {
  const { name, position, spec, followers, needs, state, changed, effect, payload, result } = node;
  const stored = yield query(
    `INSERT INTO flow_node (flow, ${COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
     ON CONFLICT DO NOTHING RETURNING 1`,
    [id, name, position, spec, followers, needs, state, changed, effect, payload, result],
  );
  return stored.length === 1;
}
