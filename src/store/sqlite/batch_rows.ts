/**
 * The counters of batches. All of it inside transactions.
 *
 * A step notes the changes of members, and applies them once at its end: one update per batch for any number of members.
 *
 * @module
 */
import {
  BATCH_FIELD,
  type BatchEvent,
  batchIn,
  type Counted,
  countedIn,
  type MemberEnd,
  type MemberLease,
} from "../../job/batch.ts";
import type { BatchRow, BatchSpec, Counter } from "../ops/batch_record.ts";
import type { BatchMember, BatchRefusal, MemberChange } from "../port/batches.ts";
import { SPREAD_LIMIT } from "../port/flows.ts";
import type { Context } from "./context.ts";
import * as flowRows from "./flow_rows.ts";
import { workerIn } from "../sql/workers.ts";
import * as newJobs from "./new_jobs.ts";

/** Returns the row of a batch. */
export function row({ sql }: Context, id: string): BatchRow | undefined {
  return sql("SELECT * FROM batch WHERE id = ?").get(id) as BatchRow | undefined;
}

/**
 * Returns why a batch doesn't accept a member.
 *
 * @param isAdmission the member is running already
 */
export function refusal(context: Context, { id, by }: BatchMember, isAdmission = false): BatchRefusal | undefined {
  const batch = row(context, id);
  if (batch === undefined) return "missing";
  if (batch.closed_as === null) return undefined;
  const accepts = batch.closed_as === "closed" && batch.pending > 0 && (isAdmission || isRunningIn(context, id, by));
  return accepts ? undefined : batch.closed_as;
}

/** Something like the batch of a payload; or of an argument. */
const BATCH_IN = new RegExp(`"${BATCH_FIELD}"\\s*:\\s*"([^"\\\\]+)"`, "g");

/** Finds jobs of cancelled batches. Keeps what it has read: for one transaction. */
export class CancelledBatches {
  readonly #context: Context;
  #known: Map<string, boolean> | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Returns whether a job belongs to a cancelled batch. Parses only payloads that contain the ID of one. */
  has(payload: string): boolean {
    if (!payload.includes(`"${BATCH_FIELD}"`)) return false;
    for (const [, id] of payload.matchAll(BATCH_IN)) if (this.#isCancelled(id!) && batchIn(payload) === id) return true;
    return false;
  }

  #isCancelled(id: string): boolean {
    this.#known ??= new Map();
    let is = this.#known.get(id);
    if (is === undefined) {
      const cancelled = "SELECT 1 FROM batch WHERE id = ? AND closed_as = 'cancelled'";
      this.#known.set(id, is = this.#context.sql(cancelled).get(id) !== undefined);
    }
    return is;
  }
}

function isRunningIn(context: Context, id: string, by: MemberLease | undefined): boolean {
  const payload = by && leasedPayload(context, by);
  return payload !== undefined && countedIn(payload)?.id === id;
}

/** Returns the payload of a job that a worker runs; undefined if it has lost the lease. */
export function leasedPayload({ sql }: Context, { worker, token }: MemberLease): string | undefined {
  const dot = token.indexOf(".");
  const job = sql(
    `SELECT payload FROM job JOIN lease ON lease.job = job.id
     WHERE lease.job = ? AND take = ? AND worker_id = ${workerIn("?")}`,
  ).get(Number(token.slice(0, dot)), token.slice(dot + 1), worker);
  return job?.payload as string | undefined;
}

/** The changes of one step. Apply them in the same transaction. */
export class BatchChanges {
  readonly #context: Context;
  /** Changes of counters, by batch. Undefined until the first one: most jobs have no batch. */
  #noted: Map<string, Map<Counter | "total" | "waiting", number>> | undefined;
  #nodes: flowRows.NodeChange[] = [];

  constructor(context: Context) {
    this.#context = context;
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
  apply(now: number): void {
    const nodes = this.#nodes;
    this.#nodes = [];
    for (const node of nodes) flowRows.change(this.#context, node, now);
    this.#applyCounts(now);
    // Each end may have one node after it without delaying the others.
    if (nodes.length > 0) this.spread(SPREAD_LIMIT + nodes.length, now);
  }

  /** Pushes and cancels nodes whose time has come, at most `limit`. Returns whether more is left. */
  spread(limit: number, now: number): boolean {
    const hasMore = flowRows.spread(this.#context, limit, { now, changes: this });
    this.#applyCounts(now);
    return hasMore;
  }

  #changesOf(id: string): Map<Counter | "total" | "waiting", number> {
    this.#noted ??= new Map();
    let changes = this.#noted.get(id);
    if (changes === undefined) this.#noted.set(id, changes = new Map());
    return changes;
  }

  #applyCounts(now: number): void {
    while (this.#noted !== undefined) {
      const all = this.#noted;
      this.#noted = undefined;
      for (const [id, changes] of all) {
        this.#add(id, changes);
        this.#advance(id, now, changes.has("total"));
      }
    }
  }

  /** Applies the consequences of a batch's current counters: callbacks, due times, the state in the parent batch. */
  advance(id: string, now: number): void {
    this.#advance(id, now, false);
    this.apply(now);
  }

  #advance(id: string, now: number, hasGrown: boolean): void {
    const batch = row(this.#context, id);
    if (batch === undefined) return;
    const { sql } = this.#context;
    const { closed_as: closedAs, pending, dead, failed } = batch;
    const fire = (event: BatchEvent, isPushed = true) => {
      sql(`UPDATE batch SET ${event}_at = ? WHERE id = ?`).run(now, id);
      if (isPushed) this.#pushCallback(batch, event, now);
    };
    if (dead + failed > 0 && batch.death_at === null) fire("death");
    if (closedAs === "abandoned" && batch.abandoned_at === null) fire("abandoned");
    const isEnded = closedAs !== null && pending === 0;
    // Members of an abandoned batch may be missing: it is neither complete nor a success.
    if (isEnded && batch.complete_at === null) fire("complete", closedAs !== "abandoned");
    const hasSucceeded = isEnded && closedAs === "closed" && batch.succeeded === batch.total;
    if (hasSucceeded && batch.success_at === null) fire("success");
    const isFinished = isEnded && dead === 0;
    if (closedAs === null ? hasGrown : isFinished !== (batch.due !== null)) {
      const due = closedAs === null ? now + batch.close_within : isFinished ? now + batch.keep : null;
      sql("UPDATE batch SET due = ? WHERE id = ?").run(due, id);
    }
    if (batch.parent === null || batch.counted === null) return;
    const ended = hasSucceeded ? "succeeded" : closedAs === "cancelled" ? "cancelled" : "failed";
    const counted = !isEnded ? "pending" : dead > 0 ? "dead" : ended;
    if (counted === batch.counted) return;
    sql("UPDATE batch SET counted = ? WHERE id = ?").run(counted, id);
    this.note(batch.parent, batch.counted, counted);
  }

  #add(id: string, changes: ReadonlyMap<Counter | "total" | "waiting", number>): void {
    const sets = [...changes].filter(([, by]) => by !== 0).sort();
    // A batch that was removed counts nothing.
    this.#context.sql(
      `UPDATE batch SET version = version + 1${sets.map(([name]) => `, ${name} = ${name} + ?`).join("")} WHERE id = ?`,
    ).run(...sets.map(([, by]) => by), id);
  }

  #pushCallback({ spec, parent }: BatchRow, event: BatchEvent, now: number): void {
    const callback = (JSON.parse(spec) as BatchSpec).callbacks[event];
    if (callback === undefined) return;
    newJobs.store(this.#context, [callback], now);
    // The parent batch waits for the callbacks of this one.
    if (parent !== null) this.note(parent, undefined, "pending");
  }
}
