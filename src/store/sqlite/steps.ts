/**
 * The steps part of the port: the steps of jobs, and the signals that they wait for.
 *
 * @module
 */
import { endedRecord, isSleep, waitBegins, waitingRecord, waitsUntil } from "../../job/step.ts";
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
import { findStep, StepWrites } from "./step_writes.ts";
import * as newJobs from "./new_jobs.ts";

/** Expired signals that each new one deletes at most. More are deleted than arrive. */
const MAX_SWEPT = 2;

/** Returns the part. */
export function stepsPart(context: Context): StepStore {
  const writes = new StepWrites(context);
  return {
    read(jid: string): Promise<StoredStep[]> {
      return context.read(() =>
        context.sql("SELECT name, record FROM step WHERE jid = ? AND name <> '' ORDER BY id")
          .all(jid) as unknown as StoredStep[]
      );
    },

    remember: (lease: StepLease, step: StoredStep): Promise<string | undefined> => writes.add(lease, step),

    wait(lease: StepLease, wait: NewWait): Promise<Wait | undefined> {
      return context.commit.run(() => {
        const { name } = wait;
        const held = findStep(context, lease, name);
        if (held === undefined) return undefined;
        const now = context.now();
        const { record: present } = held;
        if (present === null) return begin(context, lease.jid, wait, now);
        const until = waitsUntil(present);
        if (until === undefined) return { record: present, leftMs: 0 };
        if (until > now) {
          // The job was dead, and has been retried.
          if (wait.key !== undefined) joinWaiting(context, lease.jid, name, wait.key);
          return { record: present, leftMs: until - now };
        }
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

    clear(jid: string, which?: readonly string[] | "waits"): Promise<number> {
      return context.commit.run(() => {
        if (which === "waits") return endWaits(context, jid);
        const { sql } = context;
        const some = which === undefined ? null : JSON.stringify(which);
        const isNamed = "(?2 IS NULL OR name IN (SELECT value FROM json_each(?2)))";
        sql(`DELETE FROM step_wait WHERE jid = ?1 AND ${isNamed}`).run(jid, some);
        const { changes } = sql(`DELETE FROM step WHERE jid = ?1 AND name <> '' AND ${isNamed}`).run(jid, some);
        return Number(changes);
      });
    },
  };
}

/** Ends the sleeps and waits of a job, and makes it due; inside a transaction. Returns how many it ended. */
function endWaits(context: Context, jid: string): number {
  const rows = context.sql(
    "SELECT name FROM step WHERE jid = ? AND name <> '' AND record LIKE '{\"state\":\"waiting\"%'",
  ).all(jid);
  const now = context.now();
  for (const { name } of rows) {
    const record = stepRecord(context, jid, name as string)!;
    endStep(context, jid, name as string, passedRecord(record, now));
  }
  if (rows.length > 0) makeDue(context, jid, now);
  return rows.length;
}

function begin(context: Context, jid: string, { name, about, forMs, after, key, child }: NewWait, now: number): Wait {
  const { sql } = context;
  const waiting = waitingRecord(about, Math.round(now + forMs), waitBegins(now, after));
  const kept = key === undefined ? undefined : sql(
    "DELETE FROM signal WHERE id = (SELECT min(id) FROM signal WHERE key = ? AND expires > ?) RETURNING data",
  ).get(key, now);
  if (kept !== undefined) {
    const record = endedRecord(waiting, now, `"value":${kept.data}`);
    put(context, { jid, name, record });
    return { record, leftMs: 0 };
  }
  put(context, { jid, name, record: waiting });
  if (key !== undefined) joinWaiting(context, jid, name, key);
  if (child !== undefined) newJobs.store(context, [child], now);
  return { record: waiting, leftMs: forMs };
}

/** Notes that a step waits for a key, once. */
function joinWaiting({ sql }: Context, jid: string, name: string, key: string): void {
  sql(
    `INSERT INTO step_wait (key, jid, name) SELECT ?1, ?2, ?3
     WHERE NOT EXISTS (SELECT 1 FROM step_wait WHERE jid = ?2 AND name = ?3)`,
  ).run(key, jid, name);
}

function put({ sql }: Context, { jid, name, record }: StoredStep & { readonly jid: string }): void {
  sql("INSERT INTO step (jid, name, record) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET record = excluded.record")
    .run(jid, name, record);
}

/** Returns the record of a wait whose time has passed. A sleep ends without a timeout. */
function passedRecord(waiting: string, now: number): string {
  return endedRecord(waiting, now, isSleep(waiting) ? "" : `"timedOut":true`);
}
