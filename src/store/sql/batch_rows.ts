/**
 * The counters of batches.
 *
 * A step notes the changes of members, and applies them once at its end: one update per batch for any number of members.
 *
 * @module
 */
import { type BatchEvent, type Counted, countedIn, type MemberEnd, type MemberLease } from "../../job/batch.ts";
import { batchMembers } from "../ops/batch_notice.ts";
import type { BatchRow, BatchSpec, Counter } from "../ops/batch_record.ts";
import { type BatchMember, type BatchRefusal, type MemberChange, TEND_LIMIT } from "../port/batches.ts";
import { type Body, type Engine, hold, query, type Statement } from "./body.ts";
import { record } from "./events.ts";
import * as flowRows from "./flow_rows.ts";
import { holdLease, partsOf } from "./step_rows.ts";
import { followBatch } from "./webhooks.ts";
import { workerIn } from "./workers.ts";

const ROW = "SELECT * FROM batch WHERE id = ?1";

/** Returns the row of a batch. */
export function* row(id: string): Body<BatchRow | undefined> {
  const [row] = yield query(ROW, [id]);
  return row as BatchRow | undefined;
}

/** Holds a batch until the transaction ends. */
export function holdBatch(id: string): Statement {
  return hold("SELECT 1 FROM batch WHERE id = ?1 FOR NO KEY UPDATE", [id]);
}

/**
 * Returns why a batch doesn't accept a member. From now on it stays as it is, until the transaction ends.
 *
 * @param isAdmission the member is running already
 */
export function* refusal({ id, by }: BatchMember, isAdmission = false): Body<BatchRefusal | undefined> {
  if (by !== undefined) yield holdLease(by);
  yield holdBatch(id);
  const [batch] = (yield query(ROW, [id])) as unknown as readonly BatchRow[];
  if (batch === undefined) return "missing";
  if (batch.closed_as === null) return undefined;
  const accepts = batch.closed_as === "closed" && batch.pending > 0 && (isAdmission || (yield* isRunningIn(id, by)));
  return accepts ? undefined : batch.closed_as;
}

function* isRunningIn(id: string, by: MemberLease | undefined): Body<boolean> {
  const payload = by && (yield* leasedPayload(by));
  return payload !== undefined && countedIn(payload)?.id === id;
}

/** Returns the payload of a job that a worker runs; undefined if it has lost the lease. */
export function* leasedPayload({ worker, token }: MemberLease): Body<string | undefined> {
  const [job] = yield query(
    `SELECT payload FROM job JOIN lease ON lease.job = job.id
     WHERE lease.job = ?1 AND take = ?2 AND worker_id = ${workerIn("?3")}`,
    [...partsOf(token), worker],
  );
  return job?.payload as string | undefined;
}

/**
 * Returns the changes of the batch with the last ID. In this order, transactions that change the same batches don't wait for each other in a
 * circle: a batch is created after its parent, which is changed later.
 */
function last<Changes>(noted: ReadonlyMap<string, Changes>): readonly [id: string, Changes] {
  const [first, ...others] = noted;
  return others.reduce((last, one) => one[0] > last[0] ? one : last, first!);
}

/** The changes of one step. Apply them in the same transaction. */
export class BatchChanges {
  readonly #storeJobs: Engine["storeJobs"];
  readonly #spreadsLater: boolean;
  /** Changes of counters, by batch. Undefined until the first one: most jobs have no batch. */
  #noted: Map<string, Map<Counter | "total" | "waiting", number>> | undefined;
  #nodes: flowRows.NodeChange[] = [];

  /**
   * @param storeJobs stores the callbacks and the nodes that follow
   * @param spreadsLater leaves the effects of ended nodes on others to `BatchStore.tend`
   */
  constructor(storeJobs: Engine["storeJobs"], spreadsLater = false) {
    this.#storeJobs = storeJobs;
    this.#spreadsLater = spreadsLater;
  }

  /** Notes the change of a member. `from` undefined: it is new. */
  note(id: string, from: Counter | undefined, to: Counter): void {
    if (from === to) return;
    const changes = this.#changesOf(id);
    const first = from ?? "total";
    changes.set(first, (changes.get(first) ?? 0) + (from === undefined ? 1 : -1));
    changes.set(to, (changes.get(to) ?? 0) + 1);
  }

  /** Notes the new state of the job with this payload, if it is a member of a batch. */
  notePayload(payload: string, to: Counted | MemberEnd): void {
    const member = countedIn(payload);
    if (member !== undefined) this.noteMember({ ...member, from: member.counted, to });
  }

  /** Notes how a member changes, and the node that it is, if its batch is a flow. */
  noteMember({ id, from, to, node, result }: MemberChange): void {
    this.note(id, from, to);
    if (node === undefined) return;
    this.#nodes.push({ flow: id, node, to, ...(result !== undefined && { result }) });
  }

  /** Notes that nodes of a flow begin to wait, or no longer wait. */
  noteWaiting(id: string, by: number): void {
    const changes = this.#changesOf(id);
    changes.set("waiting", (changes.get("waiting") ?? 0) + by);
  }

  /** Applies the noted changes, and pushes the callbacks that follow, also those of parent batches. */
  *apply(now: number): Body<void> {
    const nodes = this.#nodes;
    this.#nodes = [];
    const spreads = nodes.length > 0 && !this.#spreadsLater;
    if (spreads) yield flowRows.lockAll();
    for (const node of nodes) yield* flowRows.change(node, now);
    // Each end may have one node after it without delaying the others.
    if (spreads) yield* this.#spread(TEND_LIMIT + nodes.length, now);
    yield* this.#applyCounts(now);
  }

  /** Pushes and cancels nodes whose time has come, at most `limit`. */
  *spread(limit: number, now: number): Body<void> {
    yield flowRows.lockAll();
    yield* this.#spread(limit, now);
    yield* this.#applyCounts(now);
  }

  #spread(limit: number, now: number): Body<void> {
    return flowRows.spread(limit, { now, changes: this, storeJobs: this.#storeJobs });
  }

  #changesOf(id: string): Map<Counter | "total" | "waiting", number> {
    this.#noted ??= new Map();
    let changes = this.#noted.get(id);
    if (changes === undefined) this.#noted.set(id, changes = new Map());
    return changes;
  }

  *#applyCounts(now: number): Body<void> {
    while (this.#noted !== undefined && this.#noted.size > 0) {
      const [id, changes] = last(this.#noted);
      this.#noted.delete(id);
      yield* this.#add(id, changes);
      yield* this.#advance(id, now, changes.has("total"));
    }
  }

  /** Applies the consequences of a batch's current counters: callbacks, due times, the state in the parent batch. */
  *advance(id: string, now: number): Body<void> {
    yield* this.#advance(id, now, false);
    yield* this.apply(now);
  }

  *#advance(id: string, now: number, hasGrown: boolean): Body<void> {
    const batch = yield* row(id);
    if (batch === undefined) return;
    const { closed_as: closedAs, pending, dead, failed } = batch;
    if (dead + failed > 0 && batch.death_at === null) yield* this.#fire(batch, "death", now);
    if (closedAs === "abandoned" && batch.abandoned_at === null) yield* this.#fire(batch, "abandoned", now);
    const isEnded = closedAs !== null && pending === 0;
    // Members of an abandoned batch may be missing: it is neither complete nor a success.
    if (isEnded && batch.complete_at === null) yield* this.#fire(batch, "complete", now, closedAs !== "abandoned");
    const hasSucceeded = isEnded && closedAs === "closed" && batch.succeeded === batch.total;
    if (hasSucceeded && batch.success_at === null) yield* this.#fire(batch, "success", now);
    const isFinished = isEnded && dead === 0;
    if (closedAs === null ? hasGrown : isFinished !== (batch.due !== null)) {
      const due = closedAs === null ? now + batch.close_within : isFinished ? now + batch.keep : null;
      yield query("UPDATE batch SET due = ?1 WHERE id = ?2", [due, id]);
    }
    if (batch.parent === null || batch.counted === null) return;
    const ended = hasSucceeded ? "succeeded" : closedAs === "cancelled" ? "cancelled" : "failed";
    const counted = !isEnded ? "pending" : dead > 0 ? "dead" : ended;
    if (counted === batch.counted) return;
    yield query("UPDATE batch SET counted = ?1 WHERE id = ?2", [counted, id]);
    this.note(batch.parent, batch.counted, counted);
  }

  *#add(id: string, changes: ReadonlyMap<Counter | "total" | "waiting", number>): Body<void> {
    const sets = [...changes].filter(([, by]) => by !== 0).sort();
    // A batch that was removed counts nothing.
    const added = sets.map(([name], i) => `, ${name} = ${name} + ?${i + 2}`).join("");
    yield query(`UPDATE batch SET version = version + 1${added} WHERE id = ?1`, [id, ...sets.map(([, by]) => by)]);
  }

  /** Notes that an event has happened, and pushes its callback. */
  *#fire(batch: BatchRow, event: BatchEvent, now: number, isPushed = true): Body<void> {
    const { id, spec, parent } = batch;
    yield query(`UPDATE batch SET ${event}_at = ?1 WHERE id = ?2`, [now, id]);
    if (!isPushed) return;
    if (event === "complete") {
      yield* record(batchMembers(batch), now);
      const follow = yield* followBatch(batch, now);
      if (follow.length > 0) yield* this.#storeJobs(follow, now);
    }
    const callback = (JSON.parse(spec) as BatchSpec).callbacks[event];
    if (callback === undefined) return;
    yield* this.#storeJobs([callback], now);
    // The parent batch waits for the callbacks of this one.
    if (parent !== null) this.note(parent, undefined, "pending");
  }
}
