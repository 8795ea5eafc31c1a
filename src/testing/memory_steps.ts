/**
 * The steps of one job in memory, on a clock that a test moves.
 *
 * @module
 */
import { endedRecord, hasSucceeded, isSleep, readStep, type Step, waitingRecord, waitsUntil } from "../job/step.ts";
import type { LeaseSteps } from "../steps/services.ts";
import type { NewJob } from "../store/port/jobs.ts";
import type { NewWait, Signal, SignalResult, StoredStep, Wait } from "../store/port/steps.ts";

/** The steps of one job, and the signals that are kept for it. */
export class MemorySteps implements LeaseSteps {
  readonly #records = new Map<string, string>();
  readonly #waits: { readonly key: string; readonly name: string }[] = [];
  readonly #signals: { readonly key: string; readonly data: string; readonly expires: number }[] = [];
  readonly #jid: string;
  readonly #now: () => number;
  /** The children that were pushed, by step. */
  readonly children = new Map<string, NewJob>();

  /** @param now epoch milliseconds */
  constructor(jid: string, now: () => number) {
    this.#jid = jid;
    this.#now = now;
  }

  /** Returns the steps, in the order in which they began. */
  list(): Step[] {
    return [...this.#records].map(([name, record]) => readStep(name, record));
  }

  read(): Promise<StoredStep[]> {
    return Promise.resolve([...this.#records].map(([name, record]) => ({ name, record })));
  }

  remember({ name, record }: StoredStep): Promise<string> {
    const present = this.#records.get(name);
    if (present !== undefined && hasSucceeded(present)) return Promise.resolve(present);
    this.#records.set(name, record);
    return Promise.resolve(record);
  }

  wait({ name, about, forMs, key, child }: NewWait): Promise<Wait> {
    const now = this.#now();
    const present = this.#records.get(name);
    const until = present === undefined ? undefined : waitsUntil(present);
    if (present !== undefined && until === undefined) return Promise.resolve({ record: present, leftMs: 0 });
    if (present !== undefined && until! > now) return Promise.resolve({ record: present, leftMs: until! - now });
    if (present !== undefined) {
      const outcome = isSleep(present) ? "" : `"timedOut":true`;
      return Promise.resolve(this.#end(name, endedRecord(present, now, outcome)));
    }
    const waiting = waitingRecord(about, now + forMs, now);
    const kept = this.#signals.findIndex((one) => one.key === key && one.expires > now);
    if (kept >= 0) {
      const { data } = this.#signals.splice(kept, 1)[0]!;
      return Promise.resolve(this.#end(name, endedRecord(waiting, now, `"value":${data}`)));
    }
    this.#records.set(name, waiting);
    if (key !== undefined) this.#waits.push({ key, name });
    if (child !== undefined) this.children.set(name, child);
    return Promise.resolve({ record: waiting, leftMs: forMs });
  }

  /** Behaves like `StepStore.signal`. */
  signal({ key, data, ttlMs }: Signal): Promise<SignalResult> {
    for (let at = this.#waits.findIndex((one) => one.key === key); at >= 0;) {
      const { name } = this.#waits.splice(at, 1)[0]!;
      if (this.answer(name, `"value":${data}`)) return Promise.resolve({ reached: this.#jid });
      at = this.#waits.findIndex((one) => one.key === key);
    }
    this.#signals.push({ key, data, expires: this.#now() + ttlMs });
    return Promise.resolve({});
  }

  /** Ends a wait. Returns false if the step doesn't wait. */
  answer(name: string, outcome: string, state: "succeeded" | "failed" = "succeeded"): boolean {
    const record = this.#records.get(name);
    if (record === undefined || waitsUntil(record) === undefined) return false;
    this.#end(name, endedRecord(record, this.#now(), outcome, state));
    return true;
  }

  /** Deletes a step, or all. */
  clear(name?: string): void {
    if (name === undefined) this.#records.clear();
    else this.#records.delete(name);
  }

  #end(name: string, record: string): Wait {
    this.#records.set(name, record);
    return { record, leftMs: 0 };
  }
}
