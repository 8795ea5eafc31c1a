/**
 * Leases: how they end.
 *
 * @module
 */
import type { Outcome, SettleResult } from "../port/jobs.ts";
import type { BatchCounters } from "./batch_rows.ts";
import type { Context } from "./context.ts";
import { endLive } from "./cron.ts";
import { inParts, type Jobs } from "./job_rows.ts";
import type { Queues } from "./take.ts";
import type { Results } from "./results.ts";
import { answerStep, forgetSteps, takeWake } from "./step_rows.ts";
import type { Sets } from "./sets.ts";
import type { Totals } from "./totals.ts";
import type { UniqueLocks } from "./unique_locks.ts";

/** What a token is made of: which job, and which taking of it. */
interface Token {
  readonly job: number;
  readonly take: string;
}

/** A lease. */
interface Held {
  readonly take: string;
  readonly queue: number;
}

/** Ends leases. */
export class Leases {
  readonly #context: Context;
  readonly #jobs: Jobs;
  readonly #queues: Queues;
  readonly #sets: Sets;
  readonly #locks: UniqueLocks;
  readonly #totals: Totals;
  readonly #results: Results;
  readonly #batches: BatchCounters;

  constructor(
    context: Context,
    parts: {
      jobs: Jobs;
      queues: Queues;
      sets: Sets;
      locks: UniqueLocks;
      totals: Totals;
      results: Results;
      batches: BatchCounters;
    },
  ) {
    this.#context = context;
    this.#jobs = parts.jobs;
    this.#queues = parts.queues;
    this.#sets = parts.sets;
    this.#locks = parts.locks;
    this.#totals = parts.totals;
    this.#results = parts.results;
    this.#batches = parts.batches;
  }

  /** See `JobStore.settle`. */
  settle(owner: string, outcomes: readonly Outcome[]): Promise<SettleResult> {
    return this.#context.commit.run(() => {
      const now = this.#context.now();
      const tokens = outcomes.map((outcome) => parseToken(outcome.token));
      const held = this.#find(owner, tokens.filter((token) => token !== undefined));
      const lost: string[] = [];
      const ended: number[] = [];
      const done: number[] = [];
      const batches = this.#batches.begin();
      let finished = 0;
      let failed = 0;
      let buried = 0;
      let recorded = 0;
      for (const [i, outcome] of outcomes.entries()) {
        const token = tokens[i];
        const lease = token && held.get(token.job);
        if (token === undefined || lease?.take !== token.take) {
          lost.push(outcome.token);
          continue;
        }
        // The same token a second time is lost.
        held.delete(token.job);
        ended.push(token.job);
        if (outcome.kind === "ack" || outcome.kind === "discard") done.push(token.job);
        else this.#move(outcome, token.job, lease.queue, now);
        if (outcome.batch !== undefined) batches.note(outcome.batch.id, outcome.batch.from, outcome.batch.to);
        if (outcome.parent !== undefined) answerStep(this.#context, outcome.parent);
        if (outcome.steps && outcome.jid !== undefined && (outcome.kind === "ack" || outcome.kind === "discard")) {
          forgetSteps(this.#context, outcome.jid);
        }
        if (outcome.unlock !== undefined) this.#locks.release(outcome.unlock, outcome.jid);
        if (outcome.occurrence !== undefined && outcome.jid !== undefined) endLive(this.#context, outcome.jid);
        if (outcome.record !== undefined) {
          this.#results.add(outcome.record, now);
          recorded++;
        }
        if (outcome.kind !== "snooze" && outcome.kind !== "release") finished++;
        if (outcome.kind === "retry" || outcome.kind === "bury" || outcome.kind === "discard") failed++;
        if (outcome.kind === "bury") buried++;
      }
      inParts(ended, "job", (where, values) => this.#context.sql(`DELETE FROM lease WHERE ${where}`).run(...values));
      this.#jobs.delete(done);
      this.#totals.add(now, finished, failed);
      if (recorded > 0) this.#results.trim(now);
      batches.apply(now);
      return { lost, dropped: buried > 0 ? this.#sets.trimDead(now) : 0 };
    }, { rows: outcomes.length });
  }

  /** See `JobStore.stillLeased`. */
  stillLeased(owner: string, tokens: readonly string[]): string[] {
    const parsed = tokens.map(parseToken);
    const held = this.#find(owner, parsed.filter((token) => token !== undefined));
    return tokens.filter((_, i) => parsed[i] !== undefined && held.get(parsed[i].job)?.take === parsed[i].take);
  }

  /** The leases that `owner` has on these jobs, by job. A row for each taking, not for each job: those cost more. */
  #find(owner: string, tokens: readonly Token[]): Map<number, Held> {
    const held = new Map<number, Held>();
    inParts(tokens.map((token) => token.job), "job", (where, values) => {
      const rows = this.#context.sql(
        `SELECT take, queue, group_concat(job) AS jobs FROM lease WHERE ${where} AND owner = ? GROUP BY take, queue`,
      ).all(...values, owner);
      for (const { take, queue, jobs } of rows) {
        const lease = { take: take as string, queue: queue as number };
        for (const job of (jobs as string).split(",")) held.set(Number(job), lease);
      }
    });
    return held;
  }

  #move(
    outcome: Exclude<Outcome, { kind: "ack" | "discard" }>,
    job: number,
    queue: number,
    now: number,
  ): void {
    if (outcome.kind === "release") return this.#queues.giveBack(queue, job);
    this.#jobs.rewrite(job, outcome.payload);
    if (outcome.kind === "bury") this.#sets.add("dead", now, job);
    else if (outcome.kind === "retry") this.#sets.add("retry", now + outcome.delayMs, job);
    else {
      const isAwake = outcome.steps && outcome.jid !== undefined && takeWake(this.#context, outcome.jid);
      this.#sets.add("scheduled", isAwake ? now : now + outcome.delayMs, job);
    }
  }
}

function parseToken(text: string): Token | undefined {
  const dot = text.indexOf(".");
  const job = Number(text.slice(0, dot));
  return dot > 0 && Number.isSafeInteger(job) ? { job, take: text.slice(dot + 1) } : undefined;
}
