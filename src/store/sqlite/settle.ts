/**
 * Leases → the outcomes of their jobs.
 *
 * @module
 */
import type { Outcome, SettleResult } from "../port/outcomes.ts";
import type { Context } from "./context.ts";
import { JobEnds } from "./job_ends.ts";
import { inParts } from "./job_rows.ts";
import { workerIn } from "../sql/workers.ts";
import { takeWake } from "./step_rows.ts";
import * as jobRows from "./job_rows.ts";
import * as queues from "./queues.ts";
import * as sets from "./sets.ts";
import * as totals from "./totals.ts";
import { trimDead } from "./dead_set.ts";

/** The parts of a token: the job, and the take. */
interface Token {
  readonly job: number;
  readonly take: string;
}

/** See `JobStore.settle`. */
export function settle(context: Context, worker: string, outcomes: readonly Outcome[]): Promise<SettleResult> {
  return context.commit.run(() => {
    const now = context.now();
    const tokens = outcomes.map((outcome) => parseToken(outcome.token));
    const held = find(context, worker, tokens.filter((token) => token !== undefined));
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
      if (outcome.kind === "release" && queues.keepCancelled(context, "job = ?", token.job)) continue;
      ended.push(token.job);
      if (outcome.kind !== "ack" && outcome.kind !== "discard") move(context, outcome, token.job, now);
      ends.noteOutcome(token.job, outcome, now);
      if (outcome.kind !== "snooze" && outcome.kind !== "release") finished++;
      if (outcome.kind === "retry" || outcome.kind === "bury" || outcome.kind === "discard") failed++;
      if (outcome.kind === "bury") buried++;
    }
    inParts(ended, "job", (where, values) => context.sql(`DELETE FROM lease WHERE ${where}`).run(...values));
    totals.add(context, now, finished, failed);
    ends.apply(now);
    return { lost, dropped: buried > 0 ? trimDead(context, now) : 0 };
  }, { rows: outcomes.length });
}

/** See `JobStore.stillLeased`. */
export function stillLeased(context: Context, worker: string, tokens: readonly string[]): string[] {
  const parsed = tokens.map(parseToken);
  const held = find(context, worker, parsed.filter((token) => token !== undefined));
  return tokens.filter((_, i) => parsed[i] !== undefined && held.get(parsed[i].job) === parsed[i].take);
}

/** Returns the takes that leased these jobs to `worker`, by job. Reads a row per take: a row per job costs more. */
function find(context: Context, worker: string, tokens: readonly Token[]): Map<number, string> {
  const held = new Map<number, string>();
  inParts(tokens.map((token) => token.job), "job", (where, values) => {
    const rows = context.sql(
      `SELECT take, group_concat(job) AS jobs FROM lease WHERE ${where} AND worker_id = ${workerIn("?")} GROUP BY take`,
    ).all(...values, worker);
    for (const { take, jobs } of rows) {
      for (const job of (jobs as string).split(",")) held.set(Number(job), String(take));
    }
  });
  return held;
}

function move(
  context: Context,
  outcome: Exclude<Outcome, { kind: "ack" | "discard" }>,
  job: number,
  now: number,
): void {
  if (outcome.kind === "release") {
    const { queue } = context.sql("SELECT queue FROM lease WHERE job = ?").get(job)!;
    return queues.returnLease(context, Number(queue), job);
  }
  jobRows.rewrite(context, job, outcome.payload);
  if (outcome.kind === "bury") sets.add(context, "dead", now, job);
  else if (outcome.kind === "retry") sets.add(context, "retry", now + outcome.delayMs, job);
  else {
    const isAwake = outcome.steps && outcome.jid !== undefined && takeWake(context, outcome.jid);
    sets.add(context, "scheduled", isAwake ? now : now + outcome.delayMs, job);
  }
}

function parseToken(text: string): Token | undefined {
  const dot = text.indexOf(".");
  const job = Number(text.slice(0, dot));
  return dot > 0 && Number.isSafeInteger(job) ? { job, take: text.slice(dot + 1) } : undefined;
}
