/** `jobs dump IDENTITY | --here | --all`. @module */
import { systemClock } from "../../clock.ts";
import { randomId } from "../../server/host/identity.ts";
import { dumpsElsewhere, isSidekiqWorker } from "../../text/workers.ts";
import { chooseWorkers, parseAsk } from "../shared/ask_worker.ts";
import { blankControls, print, printError, printJson } from "../terminal/output.ts";
import { withStore } from "../shared/store.ts";
import type { Store } from "../../store/admin/store.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs dump IDENTITY …
       jobs dump --here | --all

Prints what every async task of a process is doing, and since when: the same as the signal TTIN writes to its log.
IDENTITY is as jobs ps shows it, its beginning, the process number, or the tag; --here are those on this machine. A process
of Sidekiq's prints it in its own log. Exit 1 when one does not answer within 10 seconds: its event loop is blocked.`;

const TIMEOUT_MS = 10_000;

/** Prints the dump of processes. */
export async function run(argv: readonly string[]): Promise<number> {
  const asked = parseAsk("dump", argv);
  return await withStore(asked.flags, async (store) => {
    const processes = await chooseWorkers(store, asked);
    const dumps = await Promise.all(
      processes.map(async (process) => ({ process, identity: process.identity, text: await dumpOf(store, process) })),
    );
    if (asked.flags.json) {
      printJson(dumps.map(({ identity, text }) => ({ identity, dump: text?.split("\n") })));
    } else {
      if (dumps.length === 0) print("No live processes");
      for (const { identity, text } of dumps) {
        if (text !== undefined) print([identity, ...text.split("\n")].map(blankControls).join("\n"));
      }
    }
    const silent = dumps.filter(({ text }) => text === undefined);
    for (const { process } of silent) printError(`jobs: ${silentText(process)}`);
    return silent.every(({ process }) => isSidekiqWorker(process)) ? 0 : 1;
  });
}

/** The dump of a process; undefined when it does not answer within 10 seconds, and of one of Sidekiq's. */
export async function dumpOf(store: Store, process: WorkerInfo): Promise<string | undefined> {
  const id = randomId();
  await store.workers.send(process.identity, { verb: "dump", id });
  if (isSidekiqWorker(process)) return undefined;
  const patience = new AbortController();
  const over = new AbortController();
  void systemClock.sleep(TIMEOUT_MS, over.signal).then(() => patience.abort());
  try {
    return await store.workers.awaitReply(id, patience.signal);
  } finally {
    over.abort();
  }
}

/** What is said of a process that does not answer. */
export function silentText(process: WorkerInfo): string {
  const { identity } = process;
  return isSidekiqWorker(process) ? dumpsElsewhere(identity) : `${identity} does not answer: its event loop is blocked`;
}
