/**
 * What keys do to the store: the same as the commands of these names, by the same code.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import type { Edit } from "../../store/admin/admin.ts";
import { cancelJob, type CancelResult, isCancelled } from "../../store/ops/cancel.ts";

import { pauseTarget } from "../../store/port/paused_queues.ts";
import { recordAudit } from "../shared/audit.ts";
import { dumpOf, silentText } from "../commands/dump.ts";
import { shownQueue } from "../shared/queue_rows.ts";
import { jobLines } from "../commands/show.ts";
import { notFoundText } from "../shared/edit_jobs.ts";
import { boundLines } from "./text.ts";

/** One thing to do. */
export type Act =
  | { readonly do: "pause" | "resume"; readonly queue: string }
  | { readonly do: Edit; readonly ref: string; readonly jid: string }
  | { readonly do: "cancel"; readonly jid: string }
  | { readonly do: "tell"; readonly verb: "quiet" | "resume" | "stop"; readonly identity: string };

/** What came of it, in a line. */
export interface Report {
  readonly text: string;
  readonly bad: boolean;
}

const EDITED: Readonly<Record<Edit, string>> = {
  requeue: "put into its queue",
  kill: "moved to dead",
  delete: "deleted",
};

const TOLD = { quiet: "asked to be quiet", resume: "asked to take jobs again", stop: "asked to stop" } as const;

const CANCELLED: Readonly<Record<CancelResult, (jid: string) => string>> = {
  removed: (jid) => `${jid} cancelled`,
  aborted: (jid) => `${jid} is being aborted`,
  dead: (jid) => `${jid} is dead; delete it instead`,
  absent: (jid) => `${jid} not found: it may have finished`,
};

/**
 * Does it, and writes it down in the audit log.
 *
 * @throws {StoreError}
 */
export async function perform(store: Store, act: Act): Promise<Report> {
  const report = await carryOut(store, act);
  if (report.bad) return report;
  let unwritten = "";
  await recordAudit(store, writtenDown(act), "jobs top", (why) => unwritten = `; ${why}`);
  return { ...report, text: report.text + unwritten };
}

function writtenDown(act: Act): Parameters<typeof recordAudit>[1] {
  switch (act.do) {
    case "pause":
    case "resume":
      return { action: act.do, target: pauseTarget(act.queue) };
    case "cancel":
      return { action: "cancel", target: act.jid, count: 1 };
    case "tell":
      return { action: act.verb, target: act.identity };
    default:
      return { action: act.do === "requeue" ? "retry" : act.do, target: act.jid, count: 1 };
  }
}

async function carryOut(store: Store, act: Act): Promise<Report> {
  switch (act.do) {
    case "pause":
    case "resume":
      await store.admin.pause(act.queue, act.do === "resume" ? 0 : undefined);
      return good(`${shownQueue(act.queue)} ${act.do}d`);
    case "cancel": {
      const became = await cancelJob(store, act.jid, systemClock.now());
      return { text: CANCELLED[became](act.jid), bad: !isCancelled(became) };
    }
    case "tell":
      return await store.workers.send(act.identity, { verb: act.verb })
        ? good(`${act.identity} ${TOLD[act.verb]}`)
        : bad(`${act.identity} is no longer alive`);
    default:
      return await edit(store, act.do, act.ref, act.jid);
  }
}

/** By the entry itself rather than by its jid: an unreadable job has none, and several may have the same. */
async function edit(store: Store, edit: Edit, ref: string, jid: string): Promise<Report> {
  return await store.admin.edit([ref], edit) > 0
    ? good(`${jid} ${EDITED[edit]}`)
    : bad(`${jid} moved meanwhile, or is running`);
}

/** A job for people, as `jobs show` tells of it. */
export async function readJob(store: Store, jid: string): Promise<string[]> {
  const lines = await jobLines(store, jid);
  return boundLines(lines ?? [notFoundText(jid, store.url)]);
}

/** What every task of a process is doing, as `jobs dump` tells of it. */
export async function readDump(store: Store, identity: string): Promise<string[]> {
  const process = (await store.workers.list()).find((one) => one.identity === identity);
  if (process === undefined) return [`${identity} has ended`];
  return boundLines((await dumpOf(store, process) ?? silentText(process)).split("\n"));
}

function good(text: string): Report {
  return { text, bad: false };
}

function bad(text: string): Report {
  return { text, bad: true };
}
