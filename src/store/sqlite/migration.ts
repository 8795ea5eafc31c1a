/**
 * The migration part of the port: imports jobs of another store, and exports the jobs of this one. Remembered keys and
 * batches are kept as unique locks that no job takes.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import { readStepHead, waitsUntil } from "../../job/step.ts";
import type { StoredStep } from "../port/steps.ts";
import { endStep, stepRecord, takeWake } from "./step_rows.ts";
import {
  type ImportedJob,
  KEYS_KEPT_MS,
  type MigrationBatch,
  type MigrationStore,
  type OnceKeyState,
  type ThrottleState,
} from "../admin/migration.ts";
import type { Entry } from "../admin/admin.ts";
import { nameOf } from "../port/groups.ts";
import type { Context } from "./context.ts";
import * as editor from "./edit.ts";
import { locate } from "./entries.ts";
import * as jobRows from "./job_rows.ts";
import * as locks from "./unique_locks.ts";
import * as onceKeys from "./once_keys.ts";
import * as queues from "./queues.ts";
import { parseRef } from "./refs.ts";
import * as sets from "./sets.ts";
import * as throttles from "./throttles.ts";

/** Returns the part. */
export function migrationPart(context: Context): MigrationStore {
  return {
    importJobs(batch: string, jobs: readonly ImportedJob[]): Promise<number> {
      return context.commit.run(() => {
        const now = context.now();
        const name = lockKey(batch);
        if (locks.take(context, { key: name, ttlMs: KEYS_KEPT_MS }, name, now) !== undefined) return 0;
        for (const job of jobs) importJob(context, job, now);
        return jobs.length;
      }, { rows: jobs.length });
    },

    importSteps(jid: string, steps: readonly StoredStep[]): Promise<void> {
      return context.commit.run(() => {
        const { sql } = context;
        for (const { name, record } of steps) {
          const waits = waitsUntil(record) !== undefined;
          const present = stepRecord(context, jid, name);
          if (present !== undefined) {
            // It has ended in the other store since it was first imported.
            if (!waits && waitsUntil(present) !== undefined) endStep(context, jid, name, record);
            continue;
          }
          sql("INSERT INTO step (jid, name, record) VALUES (?, ?, ?)").run(jid, name, record);
          const key = waits ? readStepHead(name, record, Infinity).key : undefined;
          if (key !== undefined) sql("INSERT INTO step_wait (key, jid, name) VALUES (?, ?, ?)").run(key, jid, name);
        }
      }, { rows: steps.length });
    },

    debounced: (all) => context.read(() => debounced(context, all)),

    throttles: (cursor) => context.read(() => throttles.page(context, cursor)),

    importThrottles(all: readonly ThrottleState[]): Promise<void> {
      return context.commit.run(() => throttles.importAll(context, all), { rows: all.length });
    },

    removeThrottles(keys: readonly string[]): Promise<void> {
      return context.commit.run(() => throttles.remove(context, keys), { rows: keys.length });
    },

    onceKeys: (cursor) => context.read(() => onceKeys.page(context, cursor)),

    importOnceKeys(keys: readonly OnceKeyState[]): Promise<void> {
      return context.commit.run(() => onceKeys.importAll(context, keys), { rows: keys.length });
    },

    removeOnceKeys(keys: readonly string[]): Promise<void> {
      return context.commit.run(() => onceKeys.remove(context, keys), { rows: keys.length });
    },

    rememberKey(key: string): Promise<void> {
      return context.commit.run(() => {
        locks.take(context, { key: lockKey(key), ttlMs: KEYS_KEPT_MS }, lockKey(key), context.now());
      });
    },

    hasKey(key: string): Promise<boolean> {
      return context.read(() => locks.isTaken(context, lockKey(key), context.now()));
    },

    forgetKey(key: string): Promise<void> {
      return context.commit.run(() => locks.release(context, lockKey(key), undefined));
    },

    announced(): Promise<MigrationBatch | undefined> {
      return context.read(() => announced(context));
    },

    announce(refs: readonly string[]): Promise<MigrationBatch> {
      const { commit, sql } = context;
      return commit.run(() => {
        const before = announced(context);
        if (before !== undefined) return before;
        const batch = { id: crypto.randomUUID(), refs };
        sql("DELETE FROM departure").run();
        sql("INSERT INTO departure (id, refs) VALUES (?, ?)").run(batch.id, JSON.stringify(refs));
        return batch;
      });
    },

    removeAnnounced({ id, refs }: MigrationBatch, read: readonly Entry[]): Promise<number> {
      const { commit, sql } = context;
      const payloads = new Map(read.map(({ ref, payload }) => [ref, payload]));
      return commit.run(() => {
        if (announced(context)?.id === id) {
          const isSame = (ref: string) => locate(context, ref)?.payload === payloads.get(ref);
          const gone = refs.filter((ref) => isSame(ref) && editor.remove(context, ref, "moved")).length;
          sql("UPDATE departure SET refs = NULL, gone = ?").run(gone);
        }
        return Number(sql("SELECT gone FROM departure WHERE id = ?").get(id)?.gone ?? 0);
      }, { rows: refs.length });
    },
  };
}

function announced(context: Context): MigrationBatch | undefined {
  const row = context.sql("SELECT id, refs FROM departure WHERE refs IS NOT NULL").get();
  return row && { id: row.id as string, refs: JSON.parse(row.refs as string) as string[] };
}

function debounced(context: Context, all: readonly Entry[]): Map<string, NonNullable<ImportedJob["debounce"]>> {
  const found = new Map<string, NonNullable<ImportedJob["debounce"]>>();
  for (const { ref, place } of all) {
    const { id, jid } = place.in === "scheduled" && parseRef(ref) || {};
    const row = id !== undefined && jid && context.sql("SELECT key, first FROM debounce WHERE job = ?").get(id);
    if (row) found.set(ref, { key: row.key as string, firstAt: Number(row.first), jid });
  }
  return found;
}

function importJob(context: Context, { place, payload, at, unique, debounce }: ImportedJob, now: number): void {
  const jid = getField(payload, "jid");
  const id = jobRows.create(context, [{ jid: typeof jid === "string" ? jid : null, payload }]);
  if (place.in === "queue") queues.append(context, [[queues.idOf(context, nameOf(place.queue, place.group)), id, id]]);
  else {
    const isAwake = place.in === "scheduled" && typeof jid === "string" && takeWake(context, jid);
    sets.add(context, place.in, isAwake ? now : at ?? now, id);
  }
  if (unique) locks.take(context, unique, unique.jid, now);
  if (debounce) {
    const first = Math.min(Math.round(debounce.firstAt), now);
    context.sql("INSERT OR IGNORE INTO debounce (key, job, first) VALUES (?, ?, ?)").run(debounce.key, id, first);
  }
}

/** Returns the key of the lock that remembers `key`. No digest of a class and its arguments begins like this. */
function lockKey(key: string): string {
  return `imported:${key}`;
}
