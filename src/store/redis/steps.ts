/**
 * The steps part of the port: the steps of jobs, and the signals that they wait for.
 *
 * @module
 */
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";
import { CursorError } from "../port/cursor.ts";
import { nameOf } from "../port/groups.ts";
import {
  MAX_KEPT_SIGNALS,
  type NewWait,
  type Signal,
  type SignalResult,
  type StepLease,
  type StepStore,
  type StoredStep,
  tooManySignals,
  type Wait,
  type WaitPage,
  type WaitRequest,
} from "../port/steps.ts";
import { SCRIPTS } from "./client/scripts.ts";
import { type Context, keepReplyMs } from "./context.ts";
import { leasesKey, signalledKey, stepsKey, waitedKey, WAITING, waitingKey } from "./keys.ts";
import type { ReconnectingClient } from "./client/reconnecting_client.ts";
import { StepWrites } from "./step_writes.ts";

/** See `StepStore`. */
export function stepsPart(context: Context): StepStore {
  const { client, offset, wire } = context;
  const writes = new StepWrites(context);
  return {
    async read(jid: string): Promise<StoredStep[]> {
      const fields = await client.call(["HGETALL", stepsKey(jid)]) as Record<string, string>;
      const steps = Object.entries(fields).filter(([name]) => name !== "").map(([name, record]) => ({ name, record }));
      return steps.sort((one, other) => beginOf(one) - beginOf(other));
    },

    remember: (lease: StepLease, step: StoredStep): Promise<string | undefined> => writes.add(lease, step),

    async wait({ worker, token, jid }: StepLease, wait: NewWait): Promise<Wait | undefined> {
      const { name, about, forMs, after = 0, key = "", child } = wait;
      const reply = await client.run(SCRIPTS.stepWait, {
        leases: leasesKey(worker),
        steps: stepsKey(jid),
        done: waitedKey(child?.jid ?? ""),
        now: offset(),
        token,
        jid,
        name,
        about,
        forMs: Math.round(forMs),
        after: Math.floor(after),
        key,
        wire,
        queue: child && nameOf(child.queue, child.group),
        payload: child?.payload,
        at: child?.at,
        delayMs: child?.delayMs === undefined ? undefined : Math.round(child.delayMs),
        keepMs: keepReplyMs(context),
      }) as [string, string] | null;
      return reply === null ? undefined : { record: reply[0], leftMs: Number(reply[1]) };
    },

    waits: (request: WaitRequest): Promise<WaitPage> => readWaits(client, request),

    async signal({ key, data, ttlMs }: Signal): Promise<SignalResult> {
      const args = {
        ...{ done: signalledKey(crypto.randomUUID()), keepMs: keepReplyMs(context) },
        ...{ key, data, ttl: Math.round(ttlMs), maxKept: MAX_KEPT_SIGNALS },
      };
      let reply: string | null | 0;
      do reply = await client.run(SCRIPTS.signal, { now: offset(), ...args }) as typeof reply; while (
        reply === 0
      );
      if (reply === null) throw tooManySignals(key);
      return reply === "" ? {} : { reached: reply };
    },

    async clear(jid: string, which?: readonly string[] | "waits"): Promise<number> {
      if (which?.length === 0) return 0;
      if (which === "waits") {
        return await client.run(SCRIPTS.stepWake, { steps: stepsKey(jid), now: offset(), jid }) as number;
      }
      const args = { steps: stepsKey(jid), now: offset(), jid, names: which ?? [] };
      return await client.run(SCRIPTS.stepClear, args) as number;
    },
  };
}

/** Returns when a step began: a hash keeps no order. Every record has the time before the first value of a user. */
function beginOf({ record }: StoredStep): number {
  return Number(/"since":([\d.]+)/.exec(record)?.[1] ?? 0);
}

/** Parts of a wait in the reply of the script. */
const WAIT_PARTS = 5;

async function readWaits(client: ReconnectingClient, { key, cursor, limit }: WaitRequest): Promise<WaitPage> {
  const [score, after] = cursor === undefined ? ["", ""] : positionIn(cursor);
  const args = { limit, maxBytes: MAX_BATCH_BYTES, score, after };
  const list = key === undefined ? WAITING : waitingKey(key);
  const [at, last, ...parts] = await client.run(SCRIPTS.stepWaits, { list, ...args }) as [string, string, ...string[]];
  const waits = Array.from({ length: parts.length / WAIT_PARTS }, (_, i) => {
    const [key, jid, name, record, payload] = parts.slice(i * WAIT_PARTS) as [string, string, string, string, string?];
    return { key, jid, name, record, ...(payload && { payload }) };
  });
  return { waits, ...(last !== "" && { next: `${at}/${encodeURIComponent(last)}` }) };
}

/** Returns the score and the member in a cursor. */
function positionIn(cursor: string): readonly [score: string, member: string] {
  const [, score, member] = /^(\d+(?:\.\d+)?)\/(.+)$/.exec(cursor) ?? [];
  try {
    if (member !== undefined) return [score!, decodeURIComponent(member)];
  } catch {
    // It isn't a cursor of this list.
  }
  throw new CursorError(cursor);
}
