/**
 * Requests to workers, for pages and the API. Each is recorded in the audit log.
 *
 * @module
 */
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
  identity: string,
): Promise<void> {
  const sent = await services.store.workers.send(identity, { verb: "cancel", jid });
  await recordAudit(services, visitor, { action: "cancel", jid, process: identity, asked: Number(sent) }, {
    target: jid,
    details: `at ${identity}`,
    count: Number(sent),
    ...(!sent && { outcome: OFFLINE }),
  });
  if (!sent) throw notOnline(identity);
}

function notOnline(identity: string): HttpError {
  return new HttpError(404, `Worker "${identity}" is offline or unknown`);
}

/** A request to a worker. */
export type WorkerVerb = "quiet" | "resume" | "stop";

/**
 * Sends a request to a worker; without an identity, to all online workers.
 *
 * @returns how many workers it was sent to
 * @throws {HttpError} if the worker is offline or unknown
 */
export async function askWorker(
  services: Services,
  visitor: Visitor,
  identity: string | undefined,
  verb: WorkerVerb,
): Promise<number> {
  const targets = identity === undefined
    ? (await services.store.workers.list()).filter((process) => process.alive).map((process) => process.identity)
    : [identity];
  const sent = await Promise.all(targets.map((one) => services.store.workers.send(one, { verb })));
  const asked = sent.filter(Boolean).length;
  await recordAudit(services, visitor, { action: verb, process: identity ?? "all", asked }, {
    target: identity ?? "all workers",
    count: asked,
    ...(asked === 0 && { outcome: OFFLINE }),
  });
  if (identity !== undefined && asked === 0) throw notOnline(identity);
  return asked;
}

const DUMP_TIMEOUT_MS = 10_000;

/**
 * Returns what every task of a worker is doing. For a Sidekiq worker, returns where to find that.
 *
 * @returns undefined if the worker doesn't respond within 10 s: its event loop is blocked
 * @throws {HttpError} if the worker is offline or unknown
 */
export async function dumpWorker(services: Services, visitor: Visitor, identity: string): Promise<string | undefined> {
  const id = crypto.randomUUID();
  const timeout = new AbortController();
  const over = new AbortController();
  if (!await services.store.workers.send(identity, { verb: "dump", id })) {
    throw notOnline(identity);
  }
  await recordAudit(services, visitor, { action: "dump", process: identity }, { target: identity });
  const worker = (await services.store.workers.list()).find((process) => process.identity === identity);
  if (worker && isSidekiqWorker(worker)) return dumpsElsewhere(identity);
  void services.clock.sleep(DUMP_TIMEOUT_MS, over.signal).then(() => timeout.abort());
  try {
    return await services.store.workers.awaitReply(id, timeout.signal);
  } finally {
    over.abort();
  }
}
