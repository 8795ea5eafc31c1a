/**
 * Leases → the outcomes of their jobs.
 *
 * @module
 */
import { dayOf, DAYS_KEPT_MS } from "../port/history.ts";
import type { Outcome, SettleResult } from "../port/outcomes.ts";
import { putAside, queuesOf } from "./asides.ts";
import { type Body, type Engine, type LeaseParts, lock, query } from "./body.ts";
import { inParts } from "./in_parts.ts";
import { JobEnds, trimDead } from "./job_ends.ts";
import * as jobRows from "./job_rows.ts";
import * as leases from "./leases.ts";
import { sleepLock, takeWake } from "./step_rows.ts";

/** Kinds of outcomes of jobs that run again. */
const RUNS_AGAIN: ReadonlySet<Outcome["kind"]> = new Set(["release", "retry", "snooze", "aside"]);

/** See `JobStore.settle`. */
export function* settle(
  engine: Engine,
  worker: string,
  outcomes: readonly Outcome[],
  now: number,
): Body<SettleResult> {
  const tokens = outcomes.map((outcome) => leases.parseToken(outcome.token));
  const locks: string[] = [];
  for (const { kind, steps, jid, parent } of outcomes) {
    const hasSteps = steps && kind !== "retry" && kind !== "release" && kind !== "aside";
    if (hasSteps && jid !== undefined) locks.push(sleepLock(jid));
    if (parent !== undefined) locks.push(sleepLock(parent.jid));
  }
  const asides = outcomes.flatMap(({ kind }, i) => kind === "aside" ? tokens[i]?.job ?? [] : []);
  if (asides.length > 0) { for (const queue of yield* queuesOf(asides)) locks.push(`queue:${queue}`); }
  if (locks.length > 0) yield lock(...locks);
  const held = yield* engine.holdLeases(worker, tokens);
  const { ended, others, lost } = sort(outcomes, tokens, held);
  const ends = new JobEnds(engine);
  ends.noteSucceeded(ended);
  let finished = ended.length;
  let failed = 0;
  let buried = 0;
  for (const [token, outcome] of others) {
    const runsAgain = RUNS_AGAIN.has(outcome.kind);
    if (runsAgain && (yield* leases.keepCancelled("job = ?1", token.job))) continue;
    ended.push(token.job);
    if (outcome.kind !== "ack" && outcome.kind !== "discard") yield* move(engine, outcome, token.job, now);
    yield* ends.noteOutcome(token.job, outcome, now);
    if (outcome.kind === "retry" || !runsAgain) finished++;
    if (outcome.kind === "retry" || outcome.kind === "bury" || outcome.kind === "discard") failed++;
    if (outcome.kind === "bury") buried++;
  }
  for (const { where, values } of inParts(ended, "job")) yield query(`DELETE FROM lease WHERE ${where}`, values);
  yield* count(engine, now, finished, failed);
  yield* ends.apply(now);
  return { lost, dropped: buried > 0 ? yield* trimDead(engine, now) : 0 };
}

/** Outcomes, by what there is to do. */
interface Sorted {
  /** Jobs that have succeeded, and of which just the row has to go. */
  readonly ended: number[];
  readonly others: readonly (readonly [LeaseParts, Outcome])[];
  readonly lost: string[];
}

/** Sorts outcomes without a generator: that takes longer for each. The same token counts once. */
function sort(
  outcomes: readonly Outcome[],
  tokens: readonly (LeaseParts | undefined)[],
  held: Map<number, string>,
): Sorted {
  const lost: string[] = [];
  const ended: number[] = [];
  const others: [LeaseParts, Outcome][] = [];
  for (let i = 0; i < outcomes.length; i++) {
    const outcome = outcomes[i]!;
    const token = tokens[i];
    if (token === undefined || held.get(token.job) !== token.take) {
      lost.push(outcome.token);
      continue;
    }
    held.delete(token.job);
    if (!leavesNothing(outcome)) others.push([token, outcome]);
    else ended.push(token.job);
  }
  return { ended, others, lost };
}

/** Returns whether the job has succeeded and just its row has to go, as of most jobs. */
export function leavesNothing(
  { kind, unlock, occurrence, batch, parent, steps, record, follow, event }: Outcome,
): boolean {
  return kind === "ack" && event === undefined && unlock === undefined && occurrence === undefined &&
    batch === undefined && parent === undefined && !steps && record === undefined && follow === undefined;
}

function* move(
  engine: Engine,
  outcome: Exclude<Outcome, { kind: "ack" | "discard" }>,
  job: number,
  now: number,
): Body<void> {
  if (outcome.kind === "aside") return yield* putAside(engine, job, outcome.class);
  if (outcome.kind === "release") {
    const [lease] = yield query("SELECT queue FROM lease WHERE job = ?1", [job]);
    return yield* leases.returnLease(engine, Number(lease!.queue), job, outcome.begun === true);
  }
  yield* jobRows.rewrite(job, outcome.payload);
  if (outcome.kind === "bury") return yield* jobRows.addTo("dead", now, job);
  const isAwake = outcome.kind === "snooze" && outcome.steps && outcome.jid !== undefined &&
    (yield* takeWake(outcome.jid));
  const at = isAwake ? now : now + outcome.delayMs;
  yield* jobRows.addTo(outcome.kind === "retry" ? "retry" : "scheduled", at, job);
}

/** Adds to the totals of finished and failed jobs. */
function* count({ addToTotal }: Engine, now: number, finished: number, failed: number): Body<void> {
  const day = dayOf(now);
  for (const [name, count] of [["processed", finished], ["failed", failed]] as const) {
    if (count === 0) continue;
    // The first job of a day drops the days of long ago.
    if (yield* addToTotal(`${name}:${day}`, count)) {
      const before = `${name}:${dayOf(now - DAYS_KEPT_MS)}`;
      yield query("DELETE FROM total WHERE name >= ?1 AND name < ?2", [`${name}:`, before]);
    }
    yield* addToTotal(name, count);
  }
}
