/**
 * Unique locks, once keys and throttles of the jobs in memory.
 *
 * @module
 */
import type { NewJob, Throttle } from "../store/port/jobs.ts";

/** Why a job isn't stored. */
export type MemoryRefusal =
  | FirstPush & { readonly kind: "existing" }
  | { readonly kind: "duplicate"; readonly holder: string }
  | { readonly kind: "throttled"; readonly by: string; readonly freeInMs: number };

type KeyedJob = Pick<NewJob, "jid" | "once" | "unique" | "throttle">;

/** The push that stored a job with a once key. */
interface FirstPush {
  readonly first: string;
  readonly differs?: true;
}

/** The keys. */
export class MemoryKeys {
  readonly #locks = new Map<string, { readonly jid: string; readonly until: number; readonly fingerprint?: string }>();
  readonly #throttled = new Map<string, { readonly jid: string; readonly at: number }[]>();

  /** Returns the earlier push with the same once key that stored a job. */
  first({ once }: KeyedJob, now: number): FirstPush | undefined {
    const first = once && this.#holder(`once ${once.key}`, now);
    if (first === undefined) return undefined;
    const { fingerprint } = this.#locks.get(`once ${once!.key}`)!;
    const differs = ![fingerprint, once!.fingerprint].includes(undefined) && fingerprint !== once!.fingerprint;
    return { first, ...(differs && { differs }) };
  }

  /**
   * Returns why a job isn't stored; undefined if it is, and then takes its locks.
   *
   * @param replaced the jid of the waiting job that it replaces, and then has itself
   */
  take(job: KeyedJob, now: number, replaced?: string): MemoryRefusal | undefined {
    const { once, unique, throttle } = job;
    const jid = replaced ?? job.jid;
    const first = this.first(job, now);
    if (first !== undefined) return { kind: "existing", ...first };
    const full = throttle && this.#refusal(throttle, now);
    if (full !== undefined) return full;
    const holder = unique && this.#holder(`unique ${unique.key}`, now);
    if (holder !== undefined && holder !== replaced) return { kind: "duplicate", holder };
    if (once) {
      const { key, ttlMs, fingerprint } = once;
      this.#locks.set(`once ${key}`, { jid, until: now + ttlMs, ...(fingerprint !== undefined && { fingerprint }) });
    }
    if (unique) this.#locks.set(`unique ${unique.key}`, { jid, until: now + unique.ttlMs });
    if (throttle) this.#throttled.set(throttle.key, [...this.#throttled.get(throttle.key) ?? [], { jid, at: now }]);
    return undefined;
  }

  /** Releases the unique lock of a job that has ended. */
  unlock(jid: string): void {
    for (const [key, lock] of this.#locks) if (key.startsWith("unique ") && lock.jid === jid) this.#locks.delete(key);
  }

  /** Returns the jid of the job that has a unique lock. */
  holderOf(key: string, now: number): string | undefined {
    return this.#holder(`unique ${key}`, now);
  }

  #refusal({ key, count, perMs }: Throttle, now: number): MemoryRefusal | undefined {
    const oldest = this.#throttled.get(key)?.at(-count);
    if (oldest === undefined || oldest.at <= now - perMs) return undefined;
    return { kind: "throttled", by: oldest.jid, freeInMs: oldest.at + perMs - now };
  }

  #holder(key: string, now: number): string | undefined {
    const lock = this.#locks.get(key);
    return lock !== undefined && lock.until > now ? lock.jid : undefined;
  }
}
