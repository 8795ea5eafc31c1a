/**
 * Actions on durable steps: signal, wake, clear, rerun.
 *
 * @module
 */
import type { SignalOptions } from "../../client/signal.ts";
import { type Rerun, rerunFrom } from "../../store/ops/rerun_steps.ts";
import type { SignalResult } from "../../store/port/steps.ts";
import type { Visitor } from "../auth/gate.ts";
import type { Services } from "../services.ts";
import { recordAudit } from "../audit.ts";

/** Sends a signal. */
export async function signal(
  services: Services,
  visitor: Visitor,
  key: string,
  data: unknown,
  options: SignalOptions,
): Promise<SignalResult> {
  const result = await services.client.signal(key, data, options);
  await recordAudit(services, visitor, { action: "signal", key }, {
    target: `signal:${key}`,
    details: result.reached ?? "kept",
  }, "frequent");
  return result;
}

/** Ends the sleeps and waits of a job. */
export async function wake(services: Services, visitor: Visitor, jid: string): Promise<number> {
  const count = await services.store.steps.clear(jid, "waits");
  if (count > 0) await recordAudit(services, visitor, { action: "steps wake" }, { target: `job:${jid}` });
  return count;
}

/** Deletes steps of a job, so that they run again. */
export async function clear(services: Services, visitor: Visitor, jid: string, name?: string): Promise<number> {
  const count = await services.store.steps.clear(jid, name === undefined ? undefined : [name]);
  if (count === 0) return 0;
  await recordAudit(services, visitor, { action: "steps clear" }, {
    target: `job:${jid}`,
    ...(name !== undefined && { details: name }),
  });
  return count;
}

/** Runs a job again from one of its steps. */
export async function rerun(services: Services, visitor: Visitor, jid: string, name: string): Promise<Rerun> {
  const result = await rerunFrom(services.store, jid, name);
  if (result.cleared > 0) {
    await recordAudit(services, visitor, { action: "steps rerun" }, { target: `job:${jid}`, details: name });
  }
  return result;
}
