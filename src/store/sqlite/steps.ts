/**
 * The steps part of the port: the steps of jobs, and the signals that they wait for.
 *
 * @module
 */
import { setFields } from "../../job/raw.ts";
import { endedRecord, hasSucceeded, STEPS_FIELD, waitingRecord, waitsUntil } from "../../job/step.ts";
import {
  MAX_KEPT_SIGNALS,
  type NewWait,
  type Signal,
  type SignalResult,
  type StepLease,
  type StepStore,
  type StoredStep,
  tooManySignals,
  type Wait,
} from "../port/steps.ts";
import type { Context } from "./context.ts";
import { answerStep, endStep, makeDue, stepRecord } from "./step_rows.ts";
import * as jobRows from "./job_rows.ts";
import * as newJobs from "./new_jobs.ts";

/** Expired signals that each new one deletes at most. More are deleted than arrive. */
const MAX_SWEPT = 2;

/** Returns the part. */
export function stepsPart(context: Context): StepStore {
  return {
    read(jid: string): Promise<StoredStep[]> {
      return context.read(() =>
        context.sql("SELECT name, record FROM step WHERE jid = ? AND name <> '' ORDER BY id")
          .all(jid) as unknown as StoredStep[]
      );
    },

    remember(lease: StepLease, { name, record }: StoredStep): Promise<string | undefined> {
      return context.commit.run(() => {
        if (!isHeld(context, lease)) return undefined;
        const present = stepRecord(context, lease.jid, name);
        if (present !== undefined && hasSucceeded(present)) return present;
        put(context, lease, name, record);
        return record;
      });
    },

    wait(lease: StepLease, wait: NewWait): Promise<Wait | undefined> {
      return context.commit.run(() => {
        if (!isHeld(context, lease)) return undefined;
        const now = context.now();
        const { name } = wait;
        const present = stepRecord(context, lease.jid, name);
        const until = present === undefined ? undefined : waitsUntil(present);
        if (present !== undefined && until === undefined) return { record: present, leftMs: 0 };
        if (present === undefined) return begin(context, lease, wait, now);
        if (until! > now) return { record: present, leftMs: until! - now };
        const record = passedRecord(present, now);
        endStep(context, lease.jid, name, record);
        return { record, leftMs: 0 };
      });
    },

    signal({ key, data, ttlMs }: Signal): Promise<SignalResult> {
      return context.commit.run(() => {
        const { sql } = context;
        const now = context.now();
        const waiting = sql(
          "DELETE FROM step_wait WHERE id = (SELECT min(id) FROM step_wait WHERE key = ?) RETURNING jid, name",
        );
        for (let row = waiting.get(key); row !== undefined; row = waiting.get(key)) {
          const jid = row.jid as string;
          if (answerStep(context, { jid, step: row.name as string, state: "succeeded", outcome: `"value":${data}` })) {
            return { reached: jid };
          }
        }
        sql("DELETE FROM signal WHERE id IN (SELECT id FROM signal WHERE expires <= ? LIMIT ?)").run(now, MAX_SWEPT);
        const { count } = sql("SELECT count(*) AS count FROM signal WHERE key = ? AND expires > ?").get(key, now)!;
        if (Number(count) >= MAX_KEPT_SIGNALS) throw tooManySignals(key);
        sql("INSERT INTO signal (key, data, expires) VALUES (?, ?, ?)").run(key, data, Math.round(now + ttlMs));
        return {};
      });
    },

    clear(jid: string, names?: readonly string[]): Promise<number> {
      return context.commit.run(() => {
        const { sql } = context;
        const some = names === undefined ? null : JSON.stringify(names);
        const isNamed = "(?2 IS NULL OR name IN (SELECT value FROM json_each(?2)))";
        sql(`DELETE FROM step_wait WHERE jid = ?1 AND ${isNamed}`).run(jid, some);
        const { changes } = sql(`DELETE FROM step WHERE jid = ?1 AND name <> '' AND ${isNamed}`).run(jid, some);
        return Number(changes);
      });
    },

    wake(jid: string): Promise<number> {
      return context.commit.run(() => {
        const { sql } = context;
        const rows = sql("SELECT name FROM step WHERE jid = ? AND name <> '' AND record LIKE '{\"state\":\"waiting\"%'")
          .all(jid);
        const now = context.now();
        for (const { name } of rows) {
          const record = stepRecord(context, jid, name as string)!;
          endStep(context, jid, name as string, passedRecord(record, now));
        }
        if (rows.length > 0) makeDue(context, jid, now);
        return rows.length;
      });
    },
  };
}

function begin(context: Context, lease: StepLease, { name, about, forMs, key, child }: NewWait, now: number): Wait {
  const { sql } = context;
  const { jid } = lease;
  const waiting = waitingRecord(about, Math.round(now + forMs), now);
  const kept = key === undefined ? undefined : sql(
    "DELETE FROM signal WHERE id = (SELECT min(id) FROM signal WHERE key = ? AND expires > ?) RETURNING data",
  ).get(key, now);
  if (kept !== undefined) {
    const record = endedRecord(waiting, now, `"value":${kept.data}`);
    put(context, lease, name, record);
    return { record, leftMs: 0 };
  }
  put(context, lease, name, waiting);
  if (key !== undefined) sql("INSERT INTO step_wait (key, jid, name) VALUES (?, ?, ?)").run(key, jid, name);
  if (child !== undefined) newJobs.store(context, [child], now);
  return { record: waiting, leftMs: forMs };
}

/** Writes a record, and marks the payload of the job at its first step. */
function put(context: Context, { jid, token }: StepLease, name: string, record: string): void {
  const { sql } = context;
  const isFirst = sql("SELECT 1 FROM step WHERE jid = ? LIMIT 1").get(jid) === undefined;
  sql("INSERT INTO step (jid, name, record) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET record = excluded.record")
    .run(jid, name, record);
  if (!isFirst) return;
  const job = jobRows.get(context, Number(token.slice(0, token.indexOf("."))));
  jobRows.rewrite(context, job.id, setFields(job.payload, { [STEPS_FIELD]: "true" }));
}

function isHeld(context: Context, { worker, token }: StepLease): boolean {
  const dot = token.indexOf(".");
  const held = context.sql("SELECT 1 FROM lease WHERE job = ? AND take = ? AND owner = ?");
  return held.get(Number(token.slice(0, dot)), token.slice(dot + 1), worker) !== undefined;
}

/** Returns the record of a wait whose time has passed. A sleep ends without a timeout. */
function passedRecord(waiting: string, now: number): string {
  return endedRecord(waiting, now, waiting.includes(',"kind":"sleep"') ? "" : `"timedOut":true`);
}
