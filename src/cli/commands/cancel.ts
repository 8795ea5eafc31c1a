/** `jobs cancel JID…`. @module */
import { systemClock } from "../../clock.ts";
import { readEnded } from "../../job/result.ts";
import { cancelJobs, type CancelResult, isCancelled } from "../../store/ops/cancel.ts";
import { fewOf } from "../../text/format.ts";
import { relative } from "../../text/times.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { recordAudit } from "../shared/audit.ts";
import { YES } from "../terminal/confirm.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { withStore } from "../shared/store.ts";
import type { Store } from "../../store/admin/store.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs cancel JID …
       jobs cancel --all scheduled|retry|busy|queue:NAME [--yes]

Cancels jobs. One that waits (queued, scheduled or to be retried) is removed. One that runs is aborted, wherever it runs:
its signal aborts; one that runs in a process of its own is killed if it does not end. That is not a failure, and it is
not tried again. --all asks before; --yes says so beforehand, and has to where nobody can be asked. Exit 1 when a job is not
there, or has ended.`;

/** Cancels jobs. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: jids } = parseCommand("cancel", argv, { ...COMMON_FLAGS, ...YES, all: { takes: "text" } });
  const { all } = flags;
  if ((all === undefined) === (jids.length === 0)) {
    throw new UsageError("JIDs or --all SET are wanted: jobs cancel JID … | --all scheduled|retry|busy|queue:NAME");
  }
  if (all !== undefined) {
    const { cancelAll } = await import("../shared/cancel_all.ts");
    return await withStore(flags, (store) => cancelAll(store, all, flags));
  }
  return await withStore(flags, async (store) => {
    const results = await cancelJobs(store, jids, systemClock.now());
    const count = [...results.values()].filter(isCancelled).length;
    await recordAudit(store, { action: "cancel", target: fewOf(jids), count });
    if (flags.json) printJson(Object.fromEntries(results));
    else {
      for (const [jid, result] of results) {
        if (isCancelled(result)) print(cancelledText(jid, result));
        else printError(`jobs: ${await endedText(store, jid, result) ?? cancelledText(jid, result)}`);
      }
    }
    return count === results.size ? 0 : 1;
  });
}

/** How a job that is no longer there ended, where that is known. */
async function endedText(store: Store, jid: string, result: CancelResult): Promise<string | undefined> {
  const record = result === "absent" ? await store.results.get(jid) : undefined;
  if (record === undefined) return undefined;
  const { state, ended_at } = readEnded(record);
  return `"${jid}" has ended: ${state} ${relative(ended_at, systemClock.now())}`;
}

/** What became of it, for people. */
export function cancelledText(jid: string, result: CancelResult): string {
  if (result === "removed") return `${jid} removed`;
  if (result === "aborted") return `${jid} is running: asked to end`;
  if (result === "dead") return `"${jid}" has failed for good; jobs delete removes it`;
  return `no job "${jid}" here: it is done, was deleted, or is in another store`;
}
