/**
 * What another store had comes in, each job once per key. The keys are kept as locks that nobody asks for otherwise.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import { type Adopted, KEYS_KEPT_MS } from "../admin_adopt.ts";
import type { Context } from "./context.ts";
import type { Jobs } from "./jobs.ts";
import type { Queues } from "./queues.ts";
import type { Sets } from "./sets.ts";
import type { UniqueLocks } from "./unique_locks.ts";

/** Takes over what another store had. */
export class Adoption {
  readonly #context: Context;
  readonly #jobs: Jobs;
  readonly #queues: Queues;
  readonly #sets: Sets;
  readonly #locks: UniqueLocks;

  constructor(context: Context, parts: { jobs: Jobs; queues: Queues; sets: Sets; locks: UniqueLocks }) {
    this.#context = context;
    this.#jobs = parts.jobs;
    this.#queues = parts.queues;
    this.#sets = parts.sets;
    this.#locks = parts.locks;
  }

  /** See `Adopter.adopt`. */
  adopt(jobs: readonly Adopted[]): Promise<number> {
    return this.#context.commit.run(() => {
      const now = this.#context.now();
      return jobs.filter((job) => this.#adopt(job, now)).length;
    }, jobs.length);
  }

  /** See `Adopter.remember`. */
  remember(key: string): Promise<void> {
    return this.#context.commit.run(() => {
      this.#locks.take({ key: nameOf(key), ttlMs: KEYS_KEPT_MS }, nameOf(key), this.#context.now());
    });
  }

  /** See `Adopter.remembers`. */
  remembers(key: string): Promise<boolean> {
    return this.#context.read(() => this.#locks.isTaken(nameOf(key), this.#context.now()));
  }

  /** See `Adopter.forget`. */
  forget(keys: readonly string[]): Promise<void> {
    return this.#context.commit.run(() => {
      for (const key of keys) this.#locks.release(nameOf(key), undefined);
    }, keys.length);
  }

  #adopt({ key, place, payload, at, unique }: Adopted, now: number): boolean {
    const name = nameOf(key);
    if (this.#locks.take({ key: name, ttlMs: KEYS_KEPT_MS }, name, now) !== undefined) return false;
    const jid = getField(payload, "jid");
    const id = this.#jobs.create([{ jid: typeof jid === "string" ? jid : null, payload }]);
    if (place.in === "queue") this.#queues.append(this.#queues.idOf(place.queue), id, id);
    else this.#sets.add(place.in, at ?? now, id);
    if (unique) this.#locks.take(unique, unique.jid, now);
    return true;
  }
}

/** Begins with what no digest of a class and its arguments does. */
function nameOf(key: string): string {
  return `adopted:${key}`;
}
