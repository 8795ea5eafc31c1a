/**
 * Imports jobs of another store, and hands over its own. Remembered keys and batches are kept as locks that no job takes.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import { readStep, waitsUntil } from "../../job/step.ts";
import type { StoredStep } from "../port/steps.ts";
import { type ImportedJob, KEYS_KEPT_MS, type MigrationBatch, type MigrationStore } from "../admin/migration.ts";
import { nameOf } from "../port/groups.ts";
import type { Context } from "./context.ts";
import type { Editor } from "./edit.ts";
import type { Jobs } from "./job_rows.ts";
import type { Queues } from "./take.ts";
import type { Sets } from "./sets.ts";
import type { UniqueLocks } from "./unique_locks.ts";

/** The migration part of the port. */
export class Migration implements MigrationStore {
  readonly #context: Context;
  readonly #jobs: Jobs;
  readonly #queues: Queues;
  readonly #sets: Sets;
  readonly #locks: UniqueLocks;
  readonly #editor: Editor;

  constructor(
    context: Context,
    parts: { jobs: Jobs; queues: Queues; sets: Sets; locks: UniqueLocks; editor: Editor },
  ) {
    this.#context = context;
    this.#jobs = parts.jobs;
    this.#queues = parts.queues;
    this.#sets = parts.sets;
    this.#locks = parts.locks;
    this.#editor = parts.editor;
  }

  importJobs(batch: string, jobs: readonly ImportedJob[]): Promise<number> {
    return this.#context.commit.run(() => {
      const now = this.#context.now();
      const name = lockKey(batch);
      if (this.#locks.take({ key: name, ttlMs: KEYS_KEPT_MS }, name, now) !== undefined) return 0;
      for (const job of jobs) this.#importJob(job, now);
      return jobs.length;
    }, { rows: jobs.length });
  }

  importSteps(jid: string, steps: readonly StoredStep[]): Promise<void> {
    return this.#context.commit.run(() => {
      const { sql } = this.#context;
      for (const { name, record } of steps) {
        const { changes } = sql("INSERT OR IGNORE INTO step (jid, name, record) VALUES (?, ?, ?)").run(
          jid,
          name,
          record,
        );
        const key = Number(changes) > 0 && waitsUntil(record) !== undefined ? readStep(name, record).key : undefined;
        if (key !== undefined) sql("INSERT INTO step_wait (key, jid, name) VALUES (?, ?, ?)").run(key, jid, name);
      }
    }, { rows: steps.length });
  }

  rememberKey(key: string): Promise<void> {
    return this.#context.commit.run(() => {
      this.#locks.take({ key: lockKey(key), ttlMs: KEYS_KEPT_MS }, lockKey(key), this.#context.now());
    });
  }

  hasKey(key: string): Promise<boolean> {
    return this.#context.read(() => this.#locks.isTaken(lockKey(key), this.#context.now()));
  }

  forgetKey(key: string): Promise<void> {
    return this.#context.commit.run(() => this.#locks.release(lockKey(key), undefined));
  }

  announced(): Promise<MigrationBatch | undefined> {
    return this.#context.read(() => this.#announced());
  }

  announce(refs: readonly string[]): Promise<MigrationBatch> {
    const { commit, sql } = this.#context;
    return commit.run(() => {
      const before = this.#announced();
      if (before !== undefined) return before;
      const batch = { id: crypto.randomUUID(), refs };
      sql("DELETE FROM departure").run();
      sql("INSERT INTO departure (id, refs) VALUES (?, ?)").run(batch.id, JSON.stringify(refs));
      return batch;
    });
  }

  removeAnnounced({ id, refs }: MigrationBatch): Promise<number> {
    const { commit, sql } = this.#context;
    return commit.run(() => {
      if (this.#announced()?.id === id) {
        const gone = refs.filter((ref) => this.#editor.delete(ref)).length;
        sql("UPDATE departure SET refs = NULL, gone = ?").run(gone);
      }
      return Number(sql("SELECT gone FROM departure WHERE id = ?").get(id)?.gone ?? 0);
    }, { rows: refs.length });
  }

  #announced(): MigrationBatch | undefined {
    const row = this.#context.sql("SELECT id, refs FROM departure WHERE refs IS NOT NULL").get();
    return row && { id: row.id as string, refs: JSON.parse(row.refs as string) as string[] };
  }

  #importJob({ place, payload, at, unique }: ImportedJob, now: number): void {
    const jid = getField(payload, "jid");
    const id = this.#jobs.create([{ jid: typeof jid === "string" ? jid : null, payload }]);
    if (place.in === "queue") this.#queues.append(this.#queues.idOf(nameOf(place.queue, place.group)), id, id);
    else this.#sets.add(place.in, at ?? now, id);
    if (unique) this.#locks.take(unique, unique.jid, now);
  }
}

/** The key of its lock. No digest of a class and its arguments begins like this. */
function lockKey(key: string): string {
  return `imported:${key}`;
}
