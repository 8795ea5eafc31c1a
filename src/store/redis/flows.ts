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
/** The fields of a node: see `lua/included/flow.lua`. */
export const NODE_FIELDS = ["s", "n", "j", "f", "p", "x", "r"] as const;
/** Without the names after it, and its result: these may be large. */
const SHOWN_FIELDS = ["s", "n", "j", "p"] as const;

type Field = typeof NODE_FIELDS[number];

/** Returns the part. */
export function flowsPart({ client, offset }: Context): FlowStore {
  return {
    async add(id, nodes) {
      const args = nodes.flatMap((node) => [
        ...[
          node.name,
          `${node.after.length}`,
          specOf(node),
          JSON.stringify(node.followers),
          withoutBrace(node.payload)!,
        ],
      ]);
      const reply = await client.run(SCRIPTS.flowAdd, [], [offset(), id, ...args]) as BatchRefusal | "";
      return reply === "" ? undefined : reply;
    },

    async nodes(id, { cursor, limit = 100 } = {}) {
      const from = (numberIn(cursor) ?? -1) + 1;
      const records = await readPage(client, id, from, limit + 1, SHOWN_FIELDS);
      const nodes = records.slice(0, limit).map(nodeOf);
      return { nodes, ...(records.length > limit && { next: `${from + limit - 1}` }) };
    },

    async node(id, name) {
      const [record] = await readNodes(client, id, [name], SHOWN_FIELDS);
      if (record === undefined) return undefined;
      const position = await client.call(["LPOS", flowNodesKey(id), name]) as number | null;
      return nodeOf({ ...record, position: position ?? 0 });
    },

    async results(id, names) {
      if (names.length === 0) return [];
      const values = await client.call(["HMGET", flowKey(id), ...names.map((name) => `r:${name}`)]);
      return (values as (string | null)[]).map((value) => value ?? undefined);
    },

    async spread(limit) {
      return await client.run(SCRIPTS.flowSpread, [], [offset(), `${limit}`]) === 1;
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
