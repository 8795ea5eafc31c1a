/** `jobs dump WORKER | --here | --all`. @module */
import { recordAudit } from "../shared/audit.ts";
import type { Store } from "../../store/admin/store.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { systemClock } from "../../clock.ts";
import { randomId } from "../../server/host/worker_id.ts";

import { dumpsElsewhere, isSidekiqWorker } from "../../text/workers.ts";
import { parseWorkers, selectWorkers, WORKER_HELP } from "../shared/command_workers.ts";
import { blankControls, print, printError, printJson } from "../terminal/output.ts";
import { withStore } from "../shared/store.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs dump WORKER …
       jobs dump --here | --all

Prints what every async task of a worker is doing, and since when, as the signal
TTIN writes it to the worker's log. Sidekiq's workers write it to Sidekiq's log.
Exit 1 if a worker doesn't reply within 10 seconds: its event loop is blocked.

${WORKER_HELP}

Examples
  jobs dump web1:4711
  jobs dump --here`;

const REPLY_TIMEOUT_MS = 10_000;

/** Prints the dumps of workers. */
export async function run(argv: readonly string[]): Promise<number> {
  const selection = parseWorkers("dump", argv);
  const { json } = selection.flags;
  return await withStore(selection.flags, async (store) => {
    const workers = await selectWorkers(store, selection);
    for (const { id } of workers) await recordAudit(store, { action: "dump", target: id });
    const dumps = await Promise.all(workers.map(async (worker) => ({ worker, text: await dumpOf(store, worker) })));
    const silent = dumps.filter(({ text }) => text === undefined).map(({ worker }) => worker);
    const blocked = silent.find((worker) => !isSidekiqWorker(worker));
    if (json) {
      printJson({
        workers: dumps.map(({ worker, text }) => ({ id: worker.id, dump: text?.split("\n") })),
        ...(blocked && { error: { code: "no_reply", message: silentText(blocked) } }),
      });
    } else {
      if (dumps.length === 0) print("No online workers");
      for (const { worker, text } of dumps) {
        if (text !== undefined) print([worker.id, ...text.split("\n")].map(blankControls).join("\n"));
      }
    }
    for (const worker of silent) printError(`jobs: ${silentText(worker)}`);
    return blocked === undefined ? 0 : 1;
  });
}

/** Returns a worker's dump; undefined if it doesn't reply within 10 seconds, and for Sidekiq's workers. */
export async function dumpOf(store: Store, worker: WorkerInfo): Promise<string | undefined> {
  const id = randomId();
  await store.workers.send(worker.id, { verb: "dump", id });
  if (isSidekiqWorker(worker)) return undefined;
  const timeout = new AbortController();
  const replied = new AbortController();
  void systemClock.sleep(REPLY_TIMEOUT_MS, replied.signal).then(() => timeout.abort());
  try {
    return await store.workers.awaitReply(id, timeout.signal);
  } finally {
    replied.abort();
  }
}

/** Returns the message about a worker that doesn't reply. */
export function silentText(worker: WorkerInfo): string {
  const { id } = worker;
  return isSidekiqWorker(worker) ? dumpsElsewhere(id) : `${id} doesn't reply: its event loop is blocked`;
}
