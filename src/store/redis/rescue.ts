/**
 * Leases of offline workers → the front of their queues.
 *
 * @module
 */
import { afterCancel, afterDeath, type RunningSuspects } from "../../job/suspicion.ts";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";
import { splitName } from "../port/groups.ts";
import type { DoomedJob, RescueRequest, RescueResult } from "../port/jobs.ts";
import type { Context } from "./context.ts";
import type { Args } from "./client/script_head.ts";
import { SCRIPTS } from "./client/scripts.ts";
import { queueOf } from "./take.ts";

/** See `JobStore.rescue`. Both scripts check which workers are offline: between the two, a heartbeat may arrive or the clock may jump. */
export async function rescue(
  { client, offset }: Context,
  { worker: rescuer, limit, maxRescues }: RescueRequest,
): Promise<RescueResult> {
  const request = { now: offset(), rescuer, limit, maxBytes: MAX_BATCH_BYTES };
  const read = await client.run(SCRIPTS.readOfflineLeases, request);
  const [shared, waits, more, ...found] = read as [0 | 1, 0 | 1, 0 | 1, ...OfflineWorker[]];
  if (shared === 1) await client.run(SCRIPTS.returnAsides, { max: limit });
  const rest = { more: more === 1, waits: waits === 1 };
  if (found.length === 0) return { rescued: 0, doomed: [], offline: [], ...rest };
  const workers: Args[] = [];
  const doomed: DoomedJob[] = [];
  for (const [worker, ended, alone, count, ...texts] of found) {
    const running: RunningSuspects = { tokens: texts.slice(0, count), alone: alone === 1 };
    const leases: Args[] = [];
    workers.push({ worker, suspects: JSON.stringify(running.tokens), leases });
    for (let i = count; i < texts.length; i += 3) {
      const [token, payload, cancelled] = texts.slice(i, i + 3) as [string, string, "" | "1"];
      const fate = cancelled === "1" ? afterCancel(payload) : afterDeath(payload, token, running, maxRescues);
      leases.push({ token, payload: fate.kind === "back" ? fate.payload : "" });
      if (fate.kind === "back") continue;
      const { kind: _, ...end } = fate;
      doomed.push({ worker, token, ...splitName(queueOf(token)), ...end, ...(ended !== "" && { ended }) });
    }
  }
  const reply = await client.run(SCRIPTS.rescue, { now: offset(), rescuer, workers });
  const [rescued, ...offline] = reply as [number, ...string[]];
  const still = new Set(offline);
  return { rescued, doomed: doomed.filter(({ worker }) => still.has(worker)), offline, ...rest };
}

/** An offline worker: how it ended, the number of its suspects and their tokens, then per lease: token, payload, "1" if it was cancelled. */
type OfflineWorker = [worker: string, ended: string, alone: 0 | 1, suspects: number, ...texts: string[]];
