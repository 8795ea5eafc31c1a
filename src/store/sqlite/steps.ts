/**
 * The steps of jobs, and the signals that they wait for.
 *
 * @module
 */
import { setFields } from "../../job/raw.ts";
import { endedRecord, isDone, STEPS_FIELD, waitingRecord, waitsUntil } from "../../job/step.ts";
import { StoreError } from "../port/errors.ts";
import {
  MAX_KEPT_SIGNALS,
  type NewWait,
  type Signal,
  type SignalResult,
  type StepLease,
  type StepStore,
  type StoredStep,
  type Wait,
} from "../port/steps.ts";
import type { Context } from "./context.ts";
import type { Enqueuer } from "./enqueue.ts";
import type { Jobs } from "./job_rows.ts";
import { answerStep, endStep, makeDue, stepRecord } from "./step_rows.ts";

/** Expired signals are deleted a few at a time, more than come in with each. */
const SWEPT = 2;

/** Keeps the steps. */
export class Steps implements StepStore {
  readonly #context: Context;
  readonly #jobs: Jobs;
  readonly #intake: Enqueuer;

  constructor(context: Context, parts: { jobs: Jobs; intake: Enqueuer }) {
    this.#context = context;
    this.#jobs = parts.jobs;
    this.#intake = parts.intake;
  }

  read(jid: string): Promise<StoredStep[]> {
    return this.#context.read(() =>
      this.#context.sql("SELECT name, record FROM step WHERE jid = ? AND name <> '' ORDER BY id")
        .all(jid) as unknown as StoredStep[]
    );
  }

  remember(lease: StepLease, { name, record }: StoredStep): Promise<string | undefined> {
    return this.#context.commit.run(() => {
      if (!this.#isHeld(lease)) return undefined;
      const present = stepRecord(this.#context, lease.jid, name);
      if (present !== undefined && isDone(present)) return present;
      this.#put(lease, name, record);
      return record;
    });
  }

  wait(lease: StepLease, wait: NewWait): Promise<Wait | undefined> {
    return this.#context.commit.run(() => {
      if (!this.#isHeld(lease)) return undefined;
      const now = this.#context.now();
      const { name } = wait;
      const present = stepRecord(this.#context, lease.jid, name);
      const until = present === undefined ? undefined : waitsUntil(present);
      if (present !== undefined && until === undefined) return { record: present, leftMs: 0 };
      if (present === undefined) return this.#begin(lease, wait, now);
      if (until! > now) return { record: present, leftMs: until! - now };
      const record = passedRecord(present, now);
      endStep(this.#context, lease.jid, name, record);
      return { record, leftMs: 0 };
    });
  }

  signal({ key, data, ttlMs }: Signal): Promise<SignalResult> {
    return this.#context.commit.run(() => {
      const { sql } = this.#context;
      const now = this.#context.now();
      const waiting = sql(
        "DELETE FROM step_wait WHERE id = (SELECT min(id) FROM step_wait WHERE key = ?) RETURNING jid, name",
      );
      for (let row = waiting.get(key); row !== undefined; row = waiting.get(key)) {
        const jid = row.jid as string;
        if (answerStep(this.#context, { jid, step: row.name as string, state: "done", outcome: `"value":${data}` })) {
          return { reached: jid };
        }
      }
      sql("DELETE FROM signal WHERE id IN (SELECT id FROM signal WHERE expires <= ? LIMIT ?)").run(now, SWEPT);
      const { count } = sql("SELECT count(*) AS count FROM signal WHERE key = ? AND expires > ?").get(key, now)!;
      if (Number(count) >= MAX_KEPT_SIGNALS) throw tooManySignals(key);
      sql("INSERT INTO signal (key, data, expires) VALUES (?, ?, ?)").run(key, data, Math.round(now + ttlMs));
      return {};
    });
  }

  clear(jid: string, name?: string): Promise<number> {
    return this.#context.commit.run(() => {
      const { sql } = this.#context;
      sql("DELETE FROM step_wait WHERE jid = ?1 AND (?2 IS NULL OR name = ?2)").run(jid, name ?? null);
      const { changes } = sql("DELETE FROM step WHERE jid = ?1 AND name <> '' AND (?2 IS NULL OR name = ?2)")
        .run(jid, name ?? null);
      return Number(changes);
    });
  }

  wake(jid: string): Promise<number> {
    return this.#context.commit.run(() => {
      const { sql } = this.#context;
      const rows = sql("SELECT name FROM step WHERE jid = ? AND name <> '' AND record LIKE '{\"state\":\"waiting\"%'")
        .all(jid);
      const now = this.#context.now();
      for (const { name } of rows) {
        const record = stepRecord(this.#context, jid, name as string)!;
        endStep(this.#context, jid, name as string, passedRecord(record, now));
      }
      if (rows.length > 0) makeDue(this.#context, jid, now);
      return rows.length;
    });
  }

  #begin(lease: StepLease, { name, about, forMs, key, child }: NewWait, now: number): Wait {
    const { sql } = this.#context;
    const { jid } = lease;
    const waiting = waitingRecord(about, Math.round(now + forMs), now);
    const kept = key === undefined ? undefined : sql(
      "DELETE FROM signal WHERE id = (SELECT min(id) FROM signal WHERE key = ? AND expires > ?) RETURNING data",
    ).get(key, now);
    if (kept !== undefined) {
      const record = endedRecord(waiting, now, `"value":${kept.data}`);
      this.#put(lease, name, record);
      return { record, leftMs: 0 };
    }
    this.#put(lease, name, waiting);
    if (key !== undefined) sql("INSERT INTO step_wait (key, jid, name) VALUES (?, ?, ?)").run(key, jid, name);
    if (child !== undefined) this.#intake.store([child], now);
    return { record: waiting, leftMs: forMs };
  }

  /** Writes a record, and marks the payload of the job with its first step. */
  #put({ jid, token }: StepLease, name: string, record: string): void {
    const { sql } = this.#context;
    const isFirst = sql("SELECT 1 FROM step WHERE jid = ? LIMIT 1").get(jid) === undefined;
    sql("INSERT INTO step (jid, name, record) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET record = excluded.record")
      .run(jid, name, record);
    if (!isFirst) return;
    const job = this.#jobs.get(Number(token.slice(0, token.indexOf("."))));
    this.#jobs.rewrite(job.id, setFields(job.payload, { [STEPS_FIELD]: "true" }));
  }

  #isHeld({ owner, token }: StepLease): boolean {
    const dot = token.indexOf(".");
    const held = this.#context.sql("SELECT 1 FROM lease WHERE job = ? AND take = ? AND owner = ?");
    return held.get(Number(token.slice(0, dot)), token.slice(dot + 1), owner) !== undefined;
  }
}

/** The record of a wait whose time has passed. A sleep is just over. */
function passedRecord(waiting: string, now: number): string {
  return endedRecord(waiting, now, waiting.includes(',"kind":"sleep"') ? "" : `"timedOut":true`);
}

function tooManySignals(key: string): StoreError {
  return new StoreError(
    "full",
    `Signal "${key}" not stored: ${MAX_KEPT_SIGNALS} signals are kept for this key already, and no job waits for it`,
  );
}
