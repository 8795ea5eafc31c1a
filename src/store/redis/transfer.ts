/**
 * The transfer part of the port.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import type { SetName } from "../port/entries.ts";
import { type JobRow, KEYS_KEPT_MS, type OnceRow, type ThrottleRow, type TransferStore } from "../admin/transfer.ts";
import { getField } from "../../job/raw.ts";
import type { BatchRow, BatchSpec } from "../ops/batch_record.ts";
import type { NodeRecord } from "../ops/flow_record.ts";
import { transferOf } from "../ops/transfer.ts";
import { numberIn } from "../port/cursor.ts";
import { packCallbacks, rowOf } from "./batches.ts";
import type { ReconnectingClient } from "./client/reconnecting_client.ts";
import type { Args } from "./client/script_head.ts";
import { SCRIPTS } from "./client/scripts.ts";
import { type Context, serverTime } from "./context.ts";
import { withoutBrace } from "./enqueue.ts";
import { entryOf } from "./entries.ts";
import { NODE_FIELDS, readPage } from "./flows.ts";
import * as keys from "./keys.ts";
import { ANNOUNCED, importedKey, onceKey, SETS, throttleKey } from "./keys.ts";
import { locateAll } from "./locate.ts";
import { jidOf } from "./move_request.ts";
import { parseRef } from "./refs.ts";

/** Keys of any kind that are looked at for a page of throttles or once keys. */
const KEYS_PER_PAGE = 1_000;
/** Nodes of a page. */
const NODES_PER_PAGE = 100;

/** Returns the part. */
export function transferPart(context: Context): TransferStore {
  const { client, offset, wire } = context;
  const unlink = async (names: readonly string[]) => {
    if (names.length > 0) await client.call(["UNLINK", ...names]);
  };
  const scan = async (cursor: string, pattern: string) => {
    const reply = await client.call(["SCAN", cursor, "MATCH", pattern, "COUNT", `${KEYS_PER_PAGE}`]);
    const [next, found] = reply as [string, string[]];
    return { found, ...(next !== "0" && { next }) };
  };
  return transferOf({
    async mark(refs) {
      const reply = refs.length === 0
        ? client.call(["HMGET", ANNOUNCED, "id", "refs"])
        : client.run(SCRIPTS.announce, { announced: ANNOUNCED, id: randomUUID(), refs: JSON.stringify(refs) });
      const [id, announced] = await reply as [string | null, string | null];
      return announced === null ? undefined : { id: id!, refs: JSON.parse(announced) as string[] };
    },
    read: {
      job: async ({ ids = [] }) => ({ rows: await readJobs(client, ids) }),
      async batch({ ids = [] }) {
        const hashes = await Promise.all(ids.map((id) => client.call(["HGETALL", keys.batchKey(id)])));
        return { rows: hashes.flatMap((hash) => rowOf(hash as Record<string, string>) ?? []) };
      },
      async node({ ids: [flow = ""] = [], cursor }) {
        const from = (numberIn(cursor) ?? -1) + 1;
        const records = await readPage(client, flow, from, NODES_PER_PAGE, NODE_FIELDS);
        const rows = records.map((record) => ({ flow, columns: { ...record } }));
        return { rows, ...(rows.length === NODES_PER_PAGE && { next: `${from + NODES_PER_PAGE - 1}` }) };
      },
      async throttle({ cursor = "0" }) {
        const { found, ...page } = await scan(cursor, throttleKey("*"));
        const rows: ThrottleRow[] = [];
        while (found.length > 0) {
          const [read, ...fields] = await client.run(SCRIPTS.readThrottles, { throttles: found, now: offset() }) as [
            number,
            ...Field[],
          ];
          found.splice(0, read);
          rows.push(...throttlesIn(fields));
        }
        return { rows, ...page };
      },
      async once({ cursor = "0" }) {
        const { found, ...page } = await scan(cursor, onceKey("*"));
        const lines = found.length === 0 ? [] : await client.call(["MGET", ...found]) as (string | null)[];
        const now = await serverTime(context);
        const rows = found.flatMap((key, i): OnceRow[] => {
          // As lua/enqueue.lua writes it.
          const [, till, fingerprint = "", jid] = /^(\d+)\/?([\w-]*) (.*)$/s.exec(lines[i] ?? "") ?? [];
          const leftMs = Number(till) - now;
          return leftMs > 0 ? [{ key: key.slice(onceKey("").length), jid: jid!, leftMs, fingerprint }] : [];
        });
        return { rows, ...page };
      },
      async key({ ids = [] }) {
        const found = await Promise.all(ids.map((key) => client.call(["EXISTS", importedKey(key)])));
        return { rows: ids.filter((_, i) => found[i] === 1).map((key) => ({ key })) };
      },
    },
    put: {
      async job(rows, batch) {
        const jobs = rows.map(({ place, payload, at, unique, debounce }) => ({
          ...{ place: place.in === "queue" ? keys.listKey(place) : SETS[place.in], at: Math.round(at ?? 0), payload },
          ...{ lock: unique?.key, jid: unique?.jid, ttl: Math.ceil(unique?.ttlMs ?? 0) },
          ...{ debounced: debounce?.key, first: Math.round(debounce?.firstAt ?? 0), waiting: debounce?.jid },
        }));
        const head = { batch: importedKey(batch), now: offset(), keepMs: KEYS_KEPT_MS };
        await client.run(SCRIPTS.importJobs, { ...head, jobs });
      },
      step: (rows) =>
        Promise.all(rows.map(({ jid, steps, receives }) => {
          const imported = steps.map(({ name, record }) => ({ name, record }));
          return client.run(SCRIPTS.importSteps, {
            steps: keys.stepsKey(jid),
            now: offset(),
            jid,
            receives: receives ? 1 : 0,
            imported,
          });
        })),
      stream: (rows) =>
        Promise.all(rows.map(({ jid, parts }) => {
          const imported = parts.map(({ last, run, attempt, body }) => ({ last, run, attempt, body }));
          return client.run(SCRIPTS.importStream, { stream: keys.streamKey(jid), imported });
        })),
      async batch(rows) {
        for (const columns of rows) await putBatch(client, columns as unknown as BatchRow, wire);
      },
      async node(rows) {
        for (const [flow, some] of Map.groupBy(rows, ({ flow }) => flow)) {
          const nodes = some.map(({ columns }) => packNode(columns as unknown as NodeRecord));
          await client.run(SCRIPTS.flowImport, { flow: keys.flowKey(flow), nodes });
        }
      },
      async throttle(rows) {
        const throttles = rows.map(({ key, perMs, pushes }) => ({
          key,
          per: Math.ceil(perMs),
          pushes: pushes.map(({ agoMs, jid }) => ({ before: Math.round(agoMs), jid })),
        }));
        await client.run(SCRIPTS.importThrottles, { now: offset(), throttles });
      },
      async once(rows) {
        const now = await serverTime(context);
        await Promise.all(rows.map(({ key, jid, leftMs, fingerprint }) => {
          const line = `${Math.ceil(now + leftMs)}${fingerprint && `/${fingerprint}`} ${jid}`;
          return client.call(["SET", onceKey(key), line, "NX", "PX", `${Math.ceil(leftMs) + 60_000}`]);
        }));
      },
      key: (rows) =>
        Promise.all(rows.map(({ key }) => client.call(["SET", importedKey(key), "1", "PX", `${KEYS_KEPT_MS}`]))),
    },
    drop: {
      async job(rows, batch) {
        const found = await locateAll(client, rows.map(({ ref }) => parseRef(ref)).filter((ref) => ref !== undefined));
        const entries = found.filter((one) => one !== undefined).map((
          { place, position, member: { text, exact } },
        ) => ({
          ...(place.in === "queue"
            ? { place: keys.listKey(place), position }
            : { place: SETS[place.in as SetName], position: undefined }),
          ...{ member: exact, jid: jidOf(text) },
        }));
        return await client.run(SCRIPTS.migrateOut, { announced: ANNOUNCED, id: batch, entries });
      },
      async batch(rows) {
        for (const { id } of rows) {
          const parts = [keys.batchKey(id), keys.flowKey(id), keys.flowNodesKey(id), keys.flowRootsKey(id)];
          // It stays in a list until the end, so that a migration that is killed finds it again.
          const lists = [keys.BATCHES_DUE, keys.BATCHES, keys.FLOWS];
          await Promise.all([unlink(parts), ...lists.map((list) => client.call(["ZREM", list, id]))]);
        }
      },
      throttle: (rows) => unlink(rows.map(({ key }) => throttleKey(key))),
      once: (rows) => unlink(rows.map(({ key }) => onceKey(key))),
      key: (rows) => unlink(rows.map(({ key }) => importedKey(key))),
    },
  });
}

async function readJobs(client: ReconnectingClient, refs: readonly string[]): Promise<JobRow[]> {
  const found = await locateAll(client, refs.map(parseRef).filter((ref) => ref !== undefined));
  const rows = found.filter((one) => one !== undefined).map((one): JobRow => {
    const { ref, place, payload, at } = entryOf(one);
    return { ref, place: place as JobRow["place"], payload, ...(at !== undefined && { at }) };
  });
  const debounced = rows.map(({ place, payload }) => {
    const key = place.in === "scheduled" && payload.includes('"debounce_key"') && getField(payload, "debounce_key");
    return typeof key === "string" ? key : undefined;
  });
  const wanted = debounced.filter((key) => key !== undefined);
  if (wanted.length === 0) return rows;
  const records = await client.call(["MGET", ...wanted.map(keys.debounceKey)]) as (string | null)[];
  return rows.map((row, i) => {
    const key = debounced[i];
    if (key === undefined) return row;
    // The record names the member that waits. A member may end in white space.
    const [, firstAt, jid, member] = /^(\d+) (\S+) (.*)$/s.exec(records.shift() ?? "") ?? [];
    if (member?.trimEnd() !== row.payload.trimEnd()) return row;
    return { ...row, debounce: { key, firstAt: Number(firstAt), jid: jid! } };
  });
}

async function putBatch(client: ReconnectingClient, row: BatchRow, wire: 7 | 8): Promise<void> {
  const key = keys.batchKey(row.id);
  if (await client.call(["EXISTS", key]) === 1) return;
  const args = Object.entries(row).flatMap(([name, value]) => (value ?? null) === null ? [] : [name, `${value}`]);
  const callbacks = packCallbacks(JSON.parse(row.spec) as BatchSpec);
  for (const { event, queue, payload } of callbacks) args.push(`${event}:queue`, queue, `${event}:payload`, payload);
  // The hash comes last: a batch that exists isn't stored again, so one without its due time would keep none.
  await Promise.all([
    client.call(["ZADD", row.flow === null ? keys.BATCHES : keys.FLOWS, "0", row.id]),
    row.due !== null && client.call(["ZADD", keys.BATCHES_DUE, `${row.due}`, row.id]),
    client.call(["HSET", key, ...args, "wire", `${wire}`]),
  ]);
}

/** Returns a node for the script `flowImport`. */
function packNode({ name, needs, spec, followers, state, changed, effect, payload, result }: NodeRecord): Args {
  return {
    ...{ name, needs, spec, followers, state: `${state} ${changed}`, effect: effect ?? "" },
    ...{ payload: payload === null ? "" : withoutBrace(payload), result: result ?? "" },
  };
}

type Field = string | number;

/** Reads throttles as the script returns them. */
function* throttlesIn(fields: readonly Field[]): Generator<ThrottleRow> {
  for (let i = 0; i < fields.length;) {
    const [key, perMs, count] = fields.slice(i, i += 3) as [string, number, number];
    const pushes = Array.from({ length: count }, (_, k) => ({
      agoMs: fields[i + 2 * k] as number,
      jid: fields[i + 2 * k + 1] as string,
    }));
    i += 2 * count;
    yield { key, perMs, pushes };
  }
}
