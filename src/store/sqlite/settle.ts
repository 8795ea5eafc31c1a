/**
 * Leases → the outcomes of their jobs.
 *
 * @module
 */
import { dayOf, DAYS_KEPT_MS } from "../port/history.ts";
import type { Outcome, SettleResult } from "../port/outcomes.ts";
import { runNow } from "../sql/body.ts";
import { inParts } from "../sql/in_parts.ts";
import * as jobRows from "../sql/job_rows.ts";
import { takeWake } from "../sql/step_rows.ts";
import type { Context } from "./context.ts";
import { JobEnds, trimDead } from "./job_ends.ts";
import * as leases from "./leases.ts";

/** See `JobStore.settle`. */
export function settle(context: Context, worker: string, outcomes: readonly Outcome[]): Promise<SettleResult> {
  return context.commit.run(() => {
    const now = context.now();
    const tokens = outcomes.map((outcome) => leases.parseToken(outcome.token));
    const held = leases.find(context, worker, tokens);
    const lost: string[] = [];
    const ended: number[] = [];
    const ends = new JobEnds(context);
    let finished = 0;
    let failed = 0;
    let buried = 0;
    for (const [i, outcome] of outcomes.entries()) {
      const token = tokens[i];
      if (token === undefined || held.get(token.job) !== token.take) {
        lost.push(outcome.token);
        continue;
      }
      // The same token counts once.
      held.delete(token.job);
      const runsAgain = outcome.kind === "release" || outcome.kind === "retry" || outcome.kind === "snooze";
      if (runsAgain && leases.keepCancelled(context, "job = ?", token.job)) continue;
      ended.push(token.job);
      if (outcome.kind !== "ack" && outcome.kind !== "discard") move(context, outcome, token.job, now);
      ends.noteOutcome(token.job, outcome, now);
      if (outcome.kind !== "snooze" && outcome.kind !== "release") finished++;
      if (outcome.kind === "retry" || outcome.kind === "bury" || outcome.kind === "discard") failed++;
      if (outcome.kind === "bury") buried++;
    }
    for (const { where, values } of inParts(ended, "job")) {
      context.sql(`DELETE FROM lease WHERE ${where}`).run(...values);
    }
    count(context, now, finished, failed);
    ends.apply(now);
    return { lost, dropped: buried > 0 ? trimDead(context, now) : 0 };
  }, { rows: outcomes.length });
}

function move(
  context: Context,
  outcome: Exclude<Outcome, { kind: "ack" | "discard" }>,
  job: number,
  now: number,
): void {
  if (outcome.kind === "release") {
    const { queue } = context.sql("SELECT queue FROM lease WHERE job = ?").get(job)!;
    return leases.returnLease(context, Number(queue), job);
  }
  runNow(jobRows.rewrite(job, outcome.payload), context.sql);
  if (outcome.kind === "bury") return runNow(jobRows.addTo("dead", now, job), context.sql);
  const isAwake = outcome.kind === "snooze" && outcome.steps && outcome.jid !== undefined &&
    runNow(takeWake(outcome.jid), context.sql);
  const at = isAwake ? now : now + outcome.delayMs;
  runNow(jobRows.addTo(outcome.kind === "retry" ? "retry" : "scheduled", at, job), context.sql);
}

/** Adds to the totals of finished and failed jobs. */
function count(context: Context, now: number, finished: number, failed: number): void {
  const { sql } = context;
  const day = dayOf(now);
  for (const [name, count] of [["processed", finished], ["failed", failed]] as const) {
    if (count === 0) continue;
    // The first job of a day drops the days of long ago.
    if (addTo(context, `${name}:${day}`, count)) {
      sql("DELETE FROM total WHERE name >= ? AND name < ?").run(`${name}:`, `${name}:${dayOf(now - DAYS_KEPT_MS)}`);
    }
    addTo(context, name, count);
  }
}

/** Returns whether the row is new. */
function addTo({ sql }: Context, name: string, count: number): boolean {
  if (Number(sql("UPDATE total SET count = count + ? WHERE name = ?").run(count, name).changes) > 0) return false;
  sql("INSERT INTO total (name, count) VALUES (?, ?)").run(name, count);
  return true;
}
