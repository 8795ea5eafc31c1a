/**
 * The Lua scripts. Each is one atomic step of the store. The head of each file describes its arguments and its result.
 *
 * All begin with `#!lua`: Redis then decides before the first line whether it can run the script. A server that is out of
 * memory, or has become a replica, rejects a script as a whole and never in the middle.
 *
 * @module
 */
import { createHash } from "node:crypto";
import announce from "../lua/announce.lua" with { type: "text" };
import batchAdmit from "../lua/batch_admit.lua" with { type: "text" };
import batchClose from "../lua/batch_close.lua" with { type: "text" };
import batchCorrect from "../lua/batch_correct.lua" with { type: "text" };
import batchCount from "../lua/batch_count.lua" with { type: "text" };
import batchCreate from "../lua/batch_create.lua" with { type: "text" };
import batchPage from "../lua/batch_page.lua" with { type: "text" };
import batchSweep from "../lua/batch_sweep.lua" with { type: "text" };
import claim from "../lua/claim.lua" with { type: "text" };
import countLeases from "../lua/count_leases.lua" with { type: "text" };
import cronRead from "../lua/cron_read.lua" with { type: "text" };
import cronWrite from "../lua/cron_write.lua" with { type: "text" };
import declareClasses from "../lua/declare_classes.lua" with { type: "text" };
import deregister from "../lua/deregister.lua" with { type: "text" };
import enqueue from "../lua/enqueue.lua" with { type: "text" };
import flowAdd from "../lua/flow_add.lua" with { type: "text" };
import flowImport from "../lua/flow_import.lua" with { type: "text" };
import flowSpread from "../lua/flow_spread.lua" with { type: "text" };
import forgetQueue from "../lua/forget_queue.lua" with { type: "text" };
import hasQueuedJobs from "../lua/has_queued_jobs.lua" with { type: "text" };
import heartbeat from "../lua/heartbeat.lua" with { type: "text" };
import importJobs from "../lua/import_jobs.lua" with { type: "text" };
import importSteps from "../lua/import_steps.lua" with { type: "text" };
import importThrottles from "../lua/import_throttles.lua" with { type: "text" };
import keepRecord from "../lua/keep_record.lua" with { type: "text" };
import limitGroup from "../lua/limit_group.lua" with { type: "text" };
import limitQueue from "../lua/limit_queue.lua" with { type: "text" };
import migrateOut from "../lua/migrate_out.lua" with { type: "text" };
import move from "../lua/move.lua" with { type: "text" };
import note from "../lua/note.lua" with { type: "text" };
import pauseGroup from "../lua/pause_group.lua" with { type: "text" };
import pauseQueue from "../lua/pause_queue.lua" with { type: "text" };
import readBlockedQueues from "../lua/read_blocked_queues.lua" with { type: "text" };
import readDue from "../lua/read_due.lua" with { type: "text" };
import readEntries from "../lua/read_entries.lua" with { type: "text" };
import readGroupRows from "../lua/read_group_rows.lua" with { type: "text" };
import readLeases from "../lua/read_leases.lua" with { type: "text" };
import readOfflineLeases from "../lua/read_offline_leases.lua" with { type: "text" };
import readQueueRows from "../lua/read_queue_rows.lua" with { type: "text" };
import readRecords from "../lua/read_records.lua" with { type: "text" };
import readThrottles from "../lua/read_throttles.lua" with { type: "text" };
import reconcileLeases from "../lua/reconcile_leases.lua" with { type: "text" };
import recordMetrics from "../lua/record_metrics.lua" with { type: "text" };
import reply from "../lua/reply.lua" with { type: "text" };
import rescue from "../lua/rescue.lua" with { type: "text" };
import sampleQueues from "../lua/sample_queues.lua" with { type: "text" };
import send from "../lua/send.lua" with { type: "text" };
import settle from "../lua/settle.lua" with { type: "text" };
import signal from "../lua/signal.lua" with { type: "text" };
import slowestGroup from "../lua/slowest_group.lua" with { type: "text" };
import stats from "../lua/stats.lua" with { type: "text" };
import stepClear from "../lua/step_clear.lua" with { type: "text" };
import stepRemember from "../lua/step_remember.lua" with { type: "text" };
import stepWait from "../lua/step_wait.lua" with { type: "text" };
import stepWake from "../lua/step_wake.lua" with { type: "text" };
import stillLeased from "../lua/still_leased.lua" with { type: "text" };
import take from "../lua/take.lua" with { type: "text" };
import wakeGroups from "../lua/wake_groups.lua" with { type: "text" };
import addMember from "../lua/included/add_member.lua" with { type: "text" };
import batch from "../lua/included/batch.lua" with { type: "text" };
import cancelled from "../lua/included/cancelled.lua" with { type: "text" };
import closeBatch from "../lua/included/close_batch.lua" with { type: "text" };
import countTotals from "../lua/included/count_totals.lua" with { type: "text" };
import debounce from "../lua/included/debounce.lua" with { type: "text" };
import endCronJob from "../lua/included/end_cron_job.lua" with { type: "text" };
import endDebounce from "../lua/included/end_debounce.lua" with { type: "text" };
import endJob from "../lua/included/end_job.lua" with { type: "text" };
import enqueuedAt from "../lua/included/enqueued_at.lua" with { type: "text" };
import failParent from "../lua/included/fail_parent.lua" with { type: "text" };
import flow from "../lua/included/flow.lua" with { type: "text" };
import groupChanges from "../lua/included/group_changes.lua" with { type: "text" };
import groupLimits from "../lua/included/group_limits.lua" with { type: "text" };
import groups from "../lua/included/groups.lua" with { type: "text" };
import job from "../lua/included/job.lua" with { type: "text" };
import limits from "../lua/included/limits.lua" with { type: "text" };
import noteSleep from "../lua/included/note_sleep.lua" with { type: "text" };
import offline from "../lua/included/offline.lua" with { type: "text" };
import onceKeys from "../lua/included/once_keys.lua" with { type: "text" };
import pauses from "../lua/included/pauses.lua" with { type: "text" };
import queueRows from "../lua/included/queue_rows.lua" with { type: "text" };
import records from "../lua/included/records.lua" with { type: "text" };
import replace from "../lua/included/replace.lua" with { type: "text" };
import returnLease from "../lua/included/return_lease.lua" with { type: "text" };
import steps from "../lua/included/steps.lua" with { type: "text" };
import takeOut from "../lua/included/take_out.lua" with { type: "text" };
import throttle from "../lua/included/throttle.lua" with { type: "text" };
import trimDead from "../lua/included/trim_dead.lua" with { type: "text" };
import turns from "../lua/included/turns.lua" with { type: "text" };
import unlock from "../lua/included/unlock.lua" with { type: "text" };

/**
 * A script. Its text and digest are made when it first runs: those of all scripts take as long as a tenth of `jobs push`.
 */
export class Script {
  readonly #source: string;
  readonly #included: string;
  #text: string | undefined;
  #sha: string | undefined;

  /** @param included text inserted after the first line of `source` */
  constructor(source: string, included: string) {
    this.#source = source;
    this.#included = included;
  }

  get text(): string {
    return this.#text ??= this.#source.replace("\n", () => `\n${this.#included}`);
  }

  /** The SHA-1 of the text, by which Redis runs the script (`EVALSHA`). */
  get sha(): string {
    return this.#sha ??= createHash("sha1").update(this.text).digest("hex");
  }
}

function script(source: string, included = ""): Script {
  return new Script(source, included);
}

export const SCRIPTS = {
  announce: script(announce),
  batchAdmit: script(batchAdmit, job + groups + batch + flow),
  batchClose: script(batchClose, job + groups + batch + flow + closeBatch),
  batchCorrect: script(batchCorrect, job + groups + batch + flow),
  batchCount: script(batchCount, job + groups + batch),
  batchCreate: script(batchCreate, job + onceKeys + groups + batch + flow),
  batchPage: script(batchPage),
  batchSweep: script(batchSweep, job + groups + batch + flow + closeBatch),
  claim: script(claim, offline),
  countLeases: script(countLeases),
  cronRead: script(cronRead),
  cronWrite: script(cronWrite, job + groups),
  declareClasses: script(declareClasses),
  deregister: script(deregister, job + groups + returnLease),
  enqueue: script(enqueue, job + onceKeys + addMember + groups + replace + batch + flow + throttle + debounce),
  flowAdd: script(flowAdd, job + groups + batch + flow),
  flowImport: script(flowImport),
  flowSpread: script(flowSpread, job + groups + batch + flow),
  forgetQueue: script(forgetQueue, pauses),
  hasQueuedJobs: script(hasQueuedJobs, pauses),
  heartbeat: script(heartbeat),
  importJobs: script(importJobs, job + addMember + groups + replace + debounce + noteSleep),
  importSteps: script(importSteps, job + steps),
  importThrottles: script(importThrottles),
  keepRecord: script(keepRecord, job + records),
  limitGroup: script(limitGroup, groups),
  limitQueue: script(limitQueue, groups),
  migrateOut: script(migrateOut, job + groups + takeOut + unlock + endCronJob + steps + endJob + endDebounce),
  move: script(
    move,
    job + groups + replace + steps + failParent + takeOut + addMember + batch + flow + trimDead + unlock + endCronJob +
      endJob +
      records +
      endDebounce,
  ),
  note: script(note),
  pauseGroup: script(pauseGroup, groups),
  pauseQueue: script(pauseQueue),
  readBlockedQueues: script(readBlockedQueues, pauses + limits),
  readDue: script(readDue),
  readEntries: script(readEntries),
  readGroupRows: script(readGroupRows, pauses + limits + groupLimits + enqueuedAt),
  readLeases: script(readLeases),
  readOfflineLeases: script(readOfflineLeases, offline),
  readQueueRows: script(readQueueRows, pauses + limits + enqueuedAt + queueRows),
  readRecords: script(readRecords),
  readThrottles: script(readThrottles),
  reconcileLeases: script(reconcileLeases, job + groups + returnLease),
  recordMetrics: script(recordMetrics),
  reply: script(reply),
  rescue: script(rescue, job + offline + groups + returnLease + replace),
  sampleQueues: script(sampleQueues),
  send: script(send),
  settle: script(
    settle,
    job + groups + returnLease + replace + steps + noteSleep + addMember + batch + flow + trimDead + countTotals +
      endCronJob + records + unlock,
  ),
  signal: script(signal, job + steps),
  slowestGroup: script(slowestGroup, enqueuedAt),
  stats: script(stats, pauses + limits + enqueuedAt + queueRows),
  stepClear: script(stepClear, job + steps),
  stepRemember: script(stepRemember),
  stepWait: script(stepWait, job + groups + steps + addMember),
  stepWake: script(stepWake, job + steps),
  stillLeased: script(stillLeased),
  take: script(
    take,
    job + cancelled + pauses + limits + groups + returnLease + groupLimits + groupChanges + turns + unlock,
  ),
  wakeGroups: script(wakeGroups, groups),
};
