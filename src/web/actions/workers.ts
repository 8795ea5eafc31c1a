/**
 * Requests to workers, for pages and the API. Each is recorded in the audit log.
 *
 * @module
 */
import { cancelAt } from "../../store/ops/cancel.ts";
import { recordAudit } from "../audit.ts";
import type { Visitor } from "../auth/gate.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";

/** The outcome of a request to an offline worker, in the audit log. */
const OFFLINE = "worker is offline";

/**
 * Requests a worker to abort a running job. A cancelled job isn't retried, and doesn't count as failed.
 *
 * @throws {HttpError} if the worker is offline or unknown
 */
export async function cancelRunning(
  services: Services,
  visitor: Visitor,
  jid: string,
  workerId: string,
): Promise<void> {
  const sent = await cancelAt(services.store, jid, workerId, services.clock.now());
  await recordAudit(services, visitor, { action: "cancel", jid, worker: workerId, asked: Number(sent) }, {
    target: jid,
    details: `at ${workerId}`,
    count: Number(sent),
    ...(!sent && { outcome: OFFLINE }),
  });
  if (!sent) throw notOnline(workerId);
}

function notOnline(workerId: string): HttpError {
  return new HttpError(404, `Worker "${workerId}" is offline or unknown`);
}
