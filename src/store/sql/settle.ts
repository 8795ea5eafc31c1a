/**
 * Leases → the outcomes of their jobs.
 *
 * @module
 */
import { dayOf, DAYS_KEPT_MS } from "../port/history.ts";
import type { SetName } from "../port/entries.ts";
import type { Outcome, SettleResult } from "../port/outcomes.ts";
import { PutAside } from "./asides.ts";
import { type Body, type Engine, type LeaseParts, lock, query } from "./body.ts";
import { inParts } from "./in_parts.ts";
import { JobEnds, trimDead } from "./job_ends.ts";
import * as jobRows from "./job_rows.ts";
import * as leases from "./leases.ts";
import { sleepLock, takeWakes } from "./step_rows.ts";

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
  const asides = new PutAside(engine);
  const lacking = outcomes.flatMap(({ kind }, i) => kind === "aside" ? tokens[i]?.job ?? [] : []);
  for (const queue of yield* asides.read(lacking)) locks.push(`queue:${queue}`);
  if (locks.length > 0) yield lock(...locks);
  const held = yield* engine.holdLeases(worker, tokens);
  const { ended, others, lost } = sort(outcomes, tokens, held);
  const ends = new JobEnds(engine);
  ends.noteSucceeded(ended);
  let finished = ended.length;
  let failed = 0;
  let buried = 0;
  const cancelled = yield* leases.cancelledOf(others.flatMap(([{ job }, outcome]) => runsAgain(outcome) ? job : []));
  const moves = new Moves(yield* takeWakes(engine.dialect, others.flatMap(([, outcome]) => sleeperOf(outcome) ?? [])));
  for (const [token, outcome] of others) {
    if (cancelled.has(token.job) && (yield* leases.keepCancelled("job = ?1", token.job))) continue;
    ended.push(token.job);
    if (outcome.kind === "release") yield* release(engine, outcome, token.job);
    else if (outcome.kind === "aside") yield* asides.put(token.job, outcome.class);
    else if (outcome.kind !== "ack" && outcome.kind !== "discard") moves.add(outcome, token.job, now);
    yield* ends.noteOutcome(token.job, outcome);
    if (outcome.kind === "retry" || !runsAgain(outcome)) finished++;
    if (outcome.kind === "retry" || outcome.kind === "bury" || outcome.kind === "discard") failed++;
    if (outcome.kind === "bury") buried++;
  }
  yield* moves.apply(engine);
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

function runsAgain({ kind }: Outcome): boolean {
  return RUNS_AGAIN.has(kind);
}

/** Returns the jid of a job that sleeps until one of its waits ends. */
function sleeperOf({ kind, steps, jid }: Outcome): string | undefined {
  return kind === "snooze" && steps ? jid : undefined;
}

function* release(engine: Engine, { begun }: Outcome & { kind: "release" }, job: number): Body<void> {
  const [lease] = yield query("SELECT queue FROM lease WHERE job = ?1", [job]);
  yield* leases.returnLease(engine, Number(lease!.queue), job, begun === true);
}

/** Jobs that move to the sets, with their new payloads: two statements for all of them. */
class Moves {
  readonly #payloads: [job: number, payload: string][] = [];
  readonly #places: [job: number, place: SetName, at: number][] = [];
  readonly #awake: ReadonlySet<unknown>;

  /** @param awake the jobs of which a wait ended while they ran: they don't sleep */
  constructor(awake: ReadonlySet<unknown>) {
    this.#awake = awake;
  }

  add(outcome: Exclude<Outcome, { kind: "ack" | "discard" | "release" | "aside" }>, job: number, now: number): void {
    this.#payloads.push([job, outcome.payload]);
    if (outcome.kind === "bury") return void this.#places.push([job, "dead", now]);
    const isAwake = this.#awake.has(sleeperOf(outcome) ?? null);
    const at = isAwake ? now : now + outcome.delayMs;
    this.#places.push([job, outcome.kind === "retry" ? "retry" : "scheduled", at]);
  }

  *apply({ dialect }: Engine): Body<void> {
    yield* jobRows.rewriteAll(dialect, this.#payloads);
    yield* jobRows.addAllTo(dialect, this.#places);
  }
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
