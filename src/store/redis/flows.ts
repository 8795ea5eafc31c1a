/**
 * Flows: see `FlowStore`.
 *
 * @module
 */
import type { NodeState } from "../../job/flow.ts";
import { nodeOf, type NodeRecord, specOf } from "../ops/flow_record.ts";
import type { BatchRefusal } from "../port/batches.ts";
import { numberIn } from "../port/cursor.ts";
import type { FlowStore } from "../port/flows.ts";
import type { ReconnectingClient } from "./client/reconnecting_client.ts";
import { SCRIPTS } from "./client/scripts.ts";
import type { Context } from "./context.ts";
import { withoutBrace } from "./enqueue.ts";
import { flowKey, flowNodesKey } from "./keys.ts";
/** The fields of a node: see `lua/flows.lua`. */
export const NODE_FIELDS = ["s", "n", "j", "f", "p", "x", "r"] as const;
/** Without the names after it, and its result: these may be large. */
const SHOWN_FIELDS = ["s", "n", "j", "p"] as const;

type Field = typeof NODE_FIELDS[number];

/** Maximum number of nodes whose positions are searched one by one. */
const MAX_SEARCHED = 10;

/** Returns the part. */
export function flowsPart({ client, offset }: Context): FlowStore {
  return {
    async add(id, nodes) {
      const packed = nodes.map((node) => ({
        name: node.name,
        needs: node.after.length,
        spec: specOf(node),
        followers: JSON.stringify(node.followers),
        payload: withoutBrace(node.payload),
      }));
      const args = { now: offset(), id, nodes: packed };
      const reply = await client.run(SCRIPTS.flowAdd, args) as BatchRefusal | "";
      return reply === "" ? undefined : reply;
    },

    async nodes(id, request = {}) {
      const fields = request.results ? [...SHOWN_FIELDS, "r"] as const : SHOWN_FIELDS;
      if ("names" in request) {
        const [found, positions] = await Promise.all([
          readNodes(client, id, request.names, fields),
          readPositions(client, id, request.names),
        ]);
        return { nodes: found.map((record) => nodeOf({ ...record, position: positions.get(record.name) ?? 0 })) };
      }
      const { cursor, limit = 100 } = request;
      const from = (numberIn(cursor) ?? -1) + 1;
      const records = await readPage(client, id, from, limit + 1, fields);
      const nodes = records.slice(0, limit).map(nodeOf);
      return { nodes, ...(records.length > limit && { next: `${from + limit - 1}` }) };
    },
  };
}

/** Returns the records of a page, from a position on. */
export async function readPage(
  client: ReconnectingClient,
  id: string,
  from: number,
  limit: number,
  fields: readonly Field[],
): Promise<NodeRecord[]> {
  const names = await client.call(["LRANGE", flowNodesKey(id), `${from}`, `${from + limit - 1}`]) as string[];
  const records = await readNodes(client, id, names, fields);
  return records.map((record, i) => ({ ...record, position: from + i }));
}

/** Returns the positions of nodes. Of many, those of the whole flow are read: each search is O(nodes of the flow). */
async function readPositions(
  client: ReconnectingClient,
  id: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const key = flowNodesKey(id);
  if (names.length > MAX_SEARCHED) {
    const all = await client.call(["LRANGE", key, "0", "-1"]) as string[];
    return new Map(all.map((name, position) => [name, position]));
  }
  const found = await Promise.all(names.map((name) => client.call(["LPOS", key, name]) as Promise<number | null>));
  return new Map(names.map((name, i) => [name, found[i] ?? 0]));
}

async function readNodes(
  client: ReconnectingClient,
  id: string,
  names: readonly string[],
  fields: readonly Field[],
): Promise<NodeRecord[]> {
  if (names.length === 0) return [];
  const wanted = names.flatMap((name) => fields.map((field) => `${field}:${name}`));
  const values = await client.call(["HMGET", flowKey(id), ...wanted]) as (string | null)[];
  return names.flatMap((name, i) => {
    const value = (field: Field) => {
      const at = fields.indexOf(field);
      return at < 0 ? null : values[i * fields.length + at]!;
    };
    const record = recordOf(name, value);
    return record === undefined ? [] : [record];
  });
}

function recordOf(name: string, value: (field: Field) => string | null): NodeRecord | undefined {
  const [state, changed] = (value("s") ?? "").split(" ");
  const spec = value("j");
  if (!state || spec === null) return undefined;
  const payload = value("p");
  return {
    name,
    position: 0,
    spec,
    followers: value("f") ?? "[]",
    needs: Number(value("n")),
    state: state as NodeState,
    changed: Number(changed),
    effect: value("x"),
    payload: payload === null ? null : `${payload}}`,
    result: value("r"),
  };
}
