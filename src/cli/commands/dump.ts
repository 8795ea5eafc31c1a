/** `jobs dump WORKER | --here | --all`. @module */
import { Refused } from "../../operator/actions/action.ts";
import { dump } from "../../operator/actions/workers.ts";
import { actHere } from "../shared/act.ts";
import type { Store } from "../../store/admin/store.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { isSidekiqWorker } from "../../text/workers.ts";
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

/** Prints the dumps of workers. */
export async function run(argv: readonly string[]): Promise<number> {
  const selection = parseWorkers("dump", argv);
  const { json } = selection.flags;
  return await withStore(selection.flags, async (store) => {
    const workers = await selectWorkers(store, selection);
    const dumps = await Promise.all(workers.map(async (worker) => ({ worker, ...await dumpOf(store, worker) })));
    const blocked = dumps.find(({ silent }) => silent !== undefined)?.silent;
    if (json) {
      printJson({
        workers: dumps.map(({ worker: { id }, lines }) => ({ id, dump: lines })),
        ...(blocked !== undefined && { error: { code: "no_reply", message: blocked } }),
      });
    } else {
      if (dumps.length === 0) print("No online workers");
      for (const { worker, lines } of dumps) {
        if (lines !== undefined) print([worker.id, ...lines].map(blankControls).join("\n"));
      }
    }
    for (const { silent, elsewhere = silent } of dumps) if (elsewhere !== undefined) printError(`jobs: ${elsewhere}`);
    return blocked === undefined ? 0 : 1;
  });
}

/** A worker's dump, or the reason why it has none. */
export interface Dump {
  readonly lines?: readonly string[];
  /** It doesn't reply. */
  readonly silent?: string;
  /** It writes its dump to Sidekiq's log. */
  readonly elsewhere?: string;
}

/** Returns the dump of a worker. */
export async function dumpOf(store: Store, worker: WorkerInfo, by?: string): Promise<Dump> {
  try {
    const { dump: lines } = await actHere(store, dump, { id: worker.id }, { by });
    return isSidekiqWorker(worker) ? { elsewhere: lines.join("\n") } : { lines };
  } catch (error) {
    if (error instanceof Refused) return { silent: error.message };
    throw error;
  }
}
