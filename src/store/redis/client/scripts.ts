/**
 * The Lua scripts. Each is one atomic step of the store. The head of each file describes its arguments and its result.
 *
 * All begin with `#!lua`: Redis then decides before the first line whether it can run the script. A server that is out of
 * memory, or has become a replica, rejects a script as a whole and never in the middle.
 *
 * @module
 */
import { createHash } from "node:crypto";
import add from "../lua/add.lua" with { type: "text" };
import announce from "../lua/announce.lua" with { type: "text" };
import batch from "../lua/batch.lua" with { type: "text" };
import batchAdmit from "../lua/batch_admit.lua" with { type: "text" };
import batchClose from "../lua/batch_close.lua" with { type: "text" };
import batchCorrect from "../lua/batch_correct.lua" with { type: "text" };
import batchCreate from "../lua/batch_create.lua" with { type: "text" };
import batchPage from "../lua/batch_page.lua" with { type: "text" };
import batchSweep from "../lua/batch_sweep.lua" with { type: "text" };
import blockedQueues from "../lua/blocked_queues.lua" with { type: "text" };
import claimName from "../lua/claim_name.lua" with { type: "text" };
import closeBatch from "../lua/close_batch.lua" with { type: "text" };
import count from "../lua/count.lua" with { type: "text" };
import countLeases from "../lua/count_leases.lua" with { type: "text" };
import cronRead from "../lua/cron_read.lua" with { type: "text" };
import cronRemove from "../lua/cron_remove.lua" with { type: "text" };
import cronWrite from "../lua/cron_write.lua" with { type: "text" };
import death from "../lua/death.lua" with { type: "text" };
import debounce from "../lua/debounce.lua" with { type: "text" };
import debounceEnd from "../lua/debounce_end.lua" with { type: "text" };
import declare from "../lua/declare.lua" with { type: "text" };
import deregister from "../lua/deregister.lua" with { type: "text" };
import due from "../lua/due.lua" with { type: "text" };
import endLive from "../lua/end_live.lua" with { type: "text" };
import ended from "../lua/ended.lua" with { type: "text" };
import enqueue from "../lua/enqueue.lua" with { type: "text" };
import flow from "../lua/flow.lua" with { type: "text" };
import flowAdd from "../lua/flow_add.lua" with { type: "text" };
import flowImport from "../lua/flow_import.lua" with { type: "text" };
import flowSpread from "../lua/flow_spread.lua" with { type: "text" };
import forget from "../lua/forget.lua" with { type: "text" };
import groupLimits from "../lua/group_limits.lua" with { type: "text" };
import groupRows from "../lua/group_rows.lua" with { type: "text" };
import groups from "../lua/groups.lua" with { type: "text" };
import hasQueuedJobs from "../lua/has_queued_jobs.lua" with { type: "text" };
import heartbeat from "../lua/heartbeat.lua" with { type: "text" };
import importJobs from "../lua/import_jobs.lua" with { type: "text" };
import importSteps from "../lua/import_steps.lua" with { type: "text" };
import keepRecord from "../lua/keep_record.lua" with { type: "text" };
import leased from "../lua/leased.lua" with { type: "text" };
import limit from "../lua/limit.lua" with { type: "text" };
import limitGroup from "../lua/limit_group.lua" with { type: "text" };
import limits from "../lua/limits.lua" with { type: "text" };
import migrateOut from "../lua/migrate_out.lua" with { type: "text" };
import move from "../lua/move.lua" with { type: "text" };
import nameHolder from "../lua/name_holder.lua" with { type: "text" };
import offline from "../lua/offline.lua" with { type: "text" };
import orphans from "../lua/orphans.lua" with { type: "text" };
import pause from "../lua/pause.lua" with { type: "text" };
import pauseGroup from "../lua/pause_group.lua" with { type: "text" };
import paused from "../lua/paused.lua" with { type: "text" };
import pausedQueues from "../lua/paused_queues.lua" with { type: "text" };
import queueRows from "../lua/queue_rows.lua" with { type: "text" };
import queues from "../lua/queues.lua" with { type: "text" };
import reconcile from "../lua/reconcile.lua" with { type: "text" };
import record from "../lua/record.lua" with { type: "text" };
import recordMetrics from "../lua/record_metrics.lua" with { type: "text" };
import records from "../lua/records.lua" with { type: "text" };
import releaseName from "../lua/release_name.lua" with { type: "text" };
import replace from "../lua/replace.lua" with { type: "text" };
import reply from "../lua/reply.lua" with { type: "text" };
import rescue from "../lua/rescue.lua" with { type: "text" };
import sampleQueues from "../lua/sample_queues.lua" with { type: "text" };
import send from "../lua/send.lua" with { type: "text" };
import settle from "../lua/settle.lua" with { type: "text" };
import signal from "../lua/signal.lua" with { type: "text" };
import stats from "../lua/stats.lua" with { type: "text" };
import stepAsleep from "../lua/step_asleep.lua" with { type: "text" };
import stepMark from "../lua/step_mark.lua" with { type: "text" };
import stepParent from "../lua/step_parent.lua" with { type: "text" };
import stepRemember from "../lua/step_remember.lua" with { type: "text" };
import stepWait from "../lua/step_wait.lua" with { type: "text" };
import stepWake from "../lua/step_wake.lua" with { type: "text" };
import steps from "../lua/steps.lua" with { type: "text" };
import stillLeased from "../lua/still_leased.lua" with { type: "text" };
import suspects from "../lua/suspects.lua" with { type: "text" };
import take from "../lua/take.lua" with { type: "text" };
import takeOut from "../lua/take_out.lua" with { type: "text" };
import throttle from "../lua/throttle.lua" with { type: "text" };
import trimDead from "../lua/trim_dead.lua" with { type: "text" };
import turns from "../lua/turns.lua" with { type: "text" };
import unlock from "../lua/unlock.lua" with { type: "text" };
import wakeGroups from "../lua/wake_groups.lua" with { type: "text" };
import window from "../lua/window.lua" with { type: "text" };

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
  batchAdmit: script(batchAdmit, batch + flow),
  batchCorrect: script(batchCorrect, batch + flow),
  batchCreate: script(batchCreate, batch + flow),
  batchClose: script(batchClose, batch + flow + closeBatch),
  batchPage: script(batchPage),
  batchSweep: script(batchSweep, batch + flow + closeBatch),
  blockedQueues: script(blockedQueues, paused + limits),
  claimName: script(claimName, offline),
  countLeases: script(countLeases),
  cronRead: script(cronRead),
  cronRemove: script(cronRemove),
  cronWrite: script(cronWrite, groups),
  death: script(death),
  declare: script(declare),
  deregister: script(deregister, groups),
  due: script(due),
  enqueue: script(enqueue, add + groups + replace + batch + flow + throttle + debounce),
  flowAdd: script(flowAdd, batch + flow),
  flowImport: script(flowImport),
  flowSpread: script(flowSpread, batch + flow),
  forget: script(forget, paused),
  hasQueuedJobs: script(hasQueuedJobs, paused),
  heartbeat: script(heartbeat),
  importJobs: script(importJobs, add + groups + replace + debounce + stepAsleep),
  importSteps: script(importSteps, steps),
  leased: script(leased),
  limit: script(limit, groups),
  limitGroup: script(limitGroup, groups),
  groupRows: script(groupRows, paused + limits + groupLimits),
  migrateOut: script(migrateOut, groups + takeOut + unlock + endLive + ended + debounceEnd),
  move: script(
    move,
    groups + replace + steps + stepParent + takeOut + add + batch + flow + trimDead + unlock + endLive + ended +
      keepRecord +
      debounceEnd,
  ),
  nameHolder: script(nameHolder),
  orphans: script(orphans, offline),
  pause: script(pause),
  pauseGroup: script(pauseGroup, groups),
  pausedQueues: script(pausedQueues, paused),
  queues: script(queues, paused + limits + queueRows),
  reconcile: script(reconcile, groups),
  record: script(record, keepRecord),
  recordMetrics: script(recordMetrics),
  records: script(records),
  releaseName: script(releaseName),
  reply: script(reply),
  rescue: script(rescue, offline + groups + replace),
  sampleQueues: script(sampleQueues),
  send: script(send),
  settle: script(
    settle,
    groups + replace + steps + stepAsleep + add + batch + flow + trimDead + count + endLive + keepRecord,
  ),
  signal: script(signal, steps),
  stepRemember: script(stepRemember, stepMark),
  stepWait: script(stepWait, groups + steps + stepMark + add),
  stepWake: script(stepWake, steps),
  stats: script(stats, paused + limits + queueRows),
  stillLeased: script(stillLeased),
  suspects: script(suspects),
  take: script(take, paused + limits + groups + groupLimits + turns + unlock),
  wakeGroups: script(wakeGroups, groups),
  window: script(window),
};
