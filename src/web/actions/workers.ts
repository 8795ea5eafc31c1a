/**
 * What an operator asks of processes, for pages and API alike; each is written down.
 *
 * @module
 */
import { dumpsElsewhere, isSidekiqWorker } from "../../text/workers.ts";
import { recordAudit } from "./audit.ts";
import type { Visitor } from "../auth/gate.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";

/** What came of asking a process that is gone. */
const NOBODY = "no live process";

/**
 * Asks a process to abort a job that it performs: that is not a failure, and it is not tried again.
 *
 * @throws {HttpError} when there is no such live process
 */
export async function cancelRunning(
  services: Services,
  visitor: Visitor,
  jid: string,
  identity: string,
): Promise<void> {
  const heard = await services.store.workers.send(identity, { verb: "cancel", jid });
  const deed = { target: jid, details: `at ${identity}`, count: Number(heard), ...(!heard && { outcome: NOBODY }) };
  await recordAudit(services, visitor, { action: "cancel", jid, process: identity, asked: Number(heard) }, deed);
  if (!heard) throw new HttpError(404, `No live process "${identity}"`);
}

/** What a process can be asked. */
export type WorkerVerb = "quiet" | "resume" | "stop";

/**
 * Asks something of processes; without an identity, of all that live.
 *
 * @throws {HttpError} when there is no such live process
 */
export async function askWorker(
  services: Services,
  visitor: Visitor,
  identity: string | undefined,
  verb: WorkerVerb,
): Promise<number> {
  const meant = identity === undefined
    ? (await services.store.workers.list()).filter((process) => process.alive).map((process) => process.identity)
    : [identity];
  const heard = await Promise.all(meant.map((one) => services.store.workers.send(one, { verb })));
  const asked = heard.filter(Boolean).length;
  const deed = { target: identity ?? "all processes", count: asked, ...(asked === 0 && { outcome: NOBODY }) };
  await recordAudit(services, visitor, { action: verb, process: identity ?? "all", asked }, deed);
  if (identity !== undefined && asked === 0) throw new HttpError(404, `No live process "${identity}"`);
  return asked;
}

const DUMP_TIMEOUT_MS = 10_000;

/**
 * What every task of a process is doing, or where one of Sidekiq's says so; undefined when it does not answer: its event
 * loop is blocked.
 */
export async function dumpWorker(services: Services, visitor: Visitor, identity: string): Promise<string | undefined> {
  const id = crypto.randomUUID();
  const patience = new AbortController();
  const over = new AbortController();
  if (!await services.store.workers.send(identity, { verb: "dump", id })) {
    throw new HttpError(404, `No live process "${identity}"`);
  }
  await recordAudit(services, visitor, { action: "dump", process: identity }, { target: identity });
  const asked = (await services.store.workers.list()).find((process) => process.identity === identity);
  if (asked && isSidekiqWorker(asked)) return dumpsElsewhere(identity);
  void services.clock.sleep(DUMP_TIMEOUT_MS, over.signal).then(() => patience.abort());
  try {
    return await services.store.workers.awaitReply(id, patience.signal);
  } finally {
    over.abort();
  }
}
