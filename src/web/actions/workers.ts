/**
 * Requests to workers, for pages and the API. Each is recorded in the audit log.
 *
 * @module
 */
import { cancelAt } from "../../store/ops/cancel.ts";
import { dumpsElsewhere, isSidekiqWorker } from "../../text/workers.ts";
import { recordAudit } from "./audit.ts";
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

/** A request to a worker. */
export type WorkerVerb = "quiet" | "resume" | "stop";

/**
 * Sends a request to a worker; without an ID, to all online workers.
 *
 * @returns how many workers it was sent to
 * @throws {HttpError} if the worker is offline or unknown
 */
export async function askWorker(
  services: Services,
  visitor: Visitor,
  workerId: string | undefined,
  verb: WorkerVerb,
): Promise<number> {
  const targets = workerId === undefined
    ? (await services.store.workers.list()).filter((worker) => worker.alive).map((worker) => worker.id)
    : [workerId];
  const sent = await Promise.all(targets.map((one) => services.store.workers.send(one, { verb })));
  const asked = sent.filter(Boolean).length;
  await recordAudit(services, visitor, { action: verb, worker: workerId ?? "all", asked }, {
    target: workerId ?? "all workers",
    count: asked,
    ...(asked === 0 && { outcome: OFFLINE }),
  });
  if (workerId !== undefined && asked === 0) throw notOnline(workerId);
  return asked;
}

const DUMP_TIMEOUT_MS = 10_000;

/**
 * Returns what every task of a worker is doing. For a Sidekiq worker, returns where to find that.
 *
 * @returns undefined if the worker doesn't respond within 10 s: its event loop is blocked
 * @throws {HttpError} if the worker is offline or unknown
 */
export async function dumpWorker(services: Services, visitor: Visitor, workerId: string): Promise<string | undefined> {
  const id = crypto.randomUUID();
  const timeout = new AbortController();
  const over = new AbortController();
  if (!await services.store.workers.send(workerId, { verb: "dump", id })) {
    throw notOnline(workerId);
  }
  await recordAudit(services, visitor, { action: "dump", worker: workerId }, { target: workerId });
  const worker = (await services.store.workers.list()).find(({ id }) => id === workerId);
  if (worker && isSidekiqWorker(worker)) return dumpsElsewhere(workerId);
  void services.clock.sleep(DUMP_TIMEOUT_MS, over.signal).then(() => timeout.abort());
  try {
    return await services.store.workers.awaitReply(id, timeout.signal);
  } finally {
    over.abort();
  }
}
