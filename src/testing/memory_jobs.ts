/**
 * The jobs of a client in memory.
 *
 * @module
 */
import { parsePayload } from "../job/job.ts";
import { getField, setFields } from "../job/raw.ts";
import type { Debounce, EnqueueResult, NewJob } from "../store/port/jobs.ts";
import type { PushedJob } from "./fake_client.ts";
import { MemoryBatches } from "./memory_batches.ts";
import { MemoryKeys } from "./memory_keys.ts";
import type { TestClock } from "./test_clock.ts";

/** A job, and what has become of it. */
export interface MemoryEntry {
  raw: string;
  readonly queue: string;
  dueAt: number;
  state: PushedJob["state"];
  result?: unknown;
  error?: unknown;
}

/** The jobs, in memory, with the keys of their pushes. */
export class MemoryJobs {
  readonly entries: MemoryEntry[] = [];
  /** The job that runs. */
  running: MemoryEntry | undefined;
  /** Their batches and flows. */
  readonly batches: MemoryBatches;
  readonly #clock: TestClock;
  readonly #keys = new MemoryKeys();
  /** The job that waits for a debounce key, and when the first push of this wait came. */
  readonly #debounced = new Map<string, { readonly entry: MemoryEntry; readonly first: number }>();

  constructor(clock: TestClock) {
    this.#clock = clock;
    this.batches = new MemoryBatches(this, clock);
  }

  enqueue(jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
    const now = this.#clock.now();
    return Promise.resolve(jobs.map((job): EnqueueResult => {
      // A job that is refused takes no key. If an earlier push with its once key is stored, that is the result.
      const batch = this.#keys.first(job, now) === undefined && job.batch && this.batches.refusal(job.batch);
      if (batch) return { kind: "refused", batch };
      const waiting = job.unique?.replace ? this.#replaceable(job.unique.key, now) : undefined;
      const replaced = waiting && parsePayload(waiting.raw)!.jid;
      const refusal = this.#keys.take(job, now, replaced);
      if (refusal !== undefined) return refusal;
      if (job.debounce) return this.#debounce(job, job.debounce, now);
      const dueAt = Math.max(now, job.delayMs === undefined ? job.at ?? now : now + job.delayMs);
      if (waiting !== undefined) {
        const raw = setFields(job.payload, {
          jid: JSON.stringify(replaced),
          enqueued_at: (dueAt / 1_000).toFixed(3),
        });
        Object.assign(waiting, { raw, dueAt });
        return { kind: "replaced", jid: replaced! };
      }
      const entry = this.store(job, dueAt);
      if (job.batch) this.batches.join(job.batch.id, entry);
      return { kind: "stored" };
    }));
  }

  /** Stores a job without regard to its keys and its batch. */
  store({ payload, queue }: Pick<NewJob, "payload" | "queue">, dueAt: number): MemoryEntry {
    const raw = setFields(payload, { enqueued_at: (dueAt / 1_000).toFixed(3) });
    const entry: MemoryEntry = { raw, queue, dueAt, state: "pending" };
    this.entries.push(entry);
    return entry;
  }

  /** As `UniqueLock.replace` of the store's port says. */
  #replaceable(key: string, now: number): MemoryEntry | undefined {
    const holder = this.#keys.holderOf(key, now);
    const entry = holder === undefined ? undefined : this.entries.find(({ raw }) => getField(raw, "jid") === holder);
    if (entry === this.running || entry?.state !== "pending") return undefined;
    return getField(entry.raw, "on_duplicate") === "replace" ? entry : undefined;
  }

  /** As `Debounce` of the store's port says. */
  #debounce({ jid, queue, payload }: NewJob, { key, waitMs, maxMs = Infinity }: Debounce, now: number): EnqueueResult {
    const known = this.#debounced.get(key);
    const waiting = known?.entry.state === "pending" && known.entry.dueAt > now ? known : undefined;
    const first = waiting?.first ?? now;
    const dueAt = Math.min(now + waitMs, first + maxMs);
    const replaced = waiting && parsePayload(waiting.entry.raw)!.jid;
    const raw = setFields(payload, {
      jid: JSON.stringify(replaced ?? jid),
      enqueued_at: (dueAt / 1_000).toFixed(3),
    });
    const entry = waiting?.entry ?? { raw, queue, dueAt, state: "pending" };
    if (waiting === undefined) this.entries.push(entry);
    Object.assign(entry, { raw, dueAt });
    this.#debounced.set(key, { entry, first });
    return replaced === undefined ? { kind: "stored" } : { kind: "replaced", jid: replaced };
  }

  /** The pending job with the earliest time up to `end`; of several, the one that was pushed first. */
  next(end: number): MemoryEntry | undefined {
    let best: MemoryEntry | undefined;
    for (const entry of this.entries) {
      if (entry.state !== "pending" || entry.dueAt > end) continue;
      if (best === undefined || entry.dueAt < best.dueAt) best = entry;
    }
    return best;
  }

  /** Releases the unique lock of a job that has ended. */
  unlock(jid: string): void {
    this.#keys.unlock(jid);
  }
}
