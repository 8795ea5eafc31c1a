/**
 * Writes steps under the leases of their jobs. Those that end in one turn of the event loop share scripts, which take less time
 * than a script for each, on the worker and on the server.
 *
 * @module
 */
import { StoreError } from "../port/errors.ts";
import type { StepLease, StoredStep } from "../port/steps.ts";
import { SCRIPTS } from "./client/scripts.ts";
import type { Context } from "./context.ts";
import { leasesKey, stepsKey } from "./keys.ts";

/** Maximum number of steps that share a script. With a small one, the server writes some steps while others end. */
const MAX_TOGETHER = 32;
/** Maximum number of characters of their records: a script must not hold the server for long. */
const MAX_CHARACTERS = 1 << 20;

/** A step to write, and its caller. */
interface StepWrite {
  readonly lease: StepLease;
  readonly step: StoredStep;
  readonly resolve: (record: string | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Writes steps. */
export class StepWrites {
  readonly #context: Context;
  /** The writes that the next script makes. */
  #next: StepWrite[] = [];
  #characters = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  /** See `StepStore.remember`. */
  add(lease: StepLease, step: StoredStep): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#next.length === 0) void this.#context.client.clock.turn().then(() => this.#flush());
      this.#next.push({ lease, step, resolve, reject });
      this.#characters += step.record.length;
      if (this.#next.length >= MAX_TOGETHER || this.#characters >= MAX_CHARACTERS) this.#flush();
    });
  }

  #flush(): void {
    const writes = this.#next;
    this.#next = [];
    this.#characters = 0;
    for (const [worker, of] of Map.groupBy(writes, ({ lease }) => lease.worker)) void this.#write(worker, of);
  }

  async #write(worker: string, writes: readonly StepWrite[]): Promise<void> {
    const keys = { leases: leasesKey(worker), hashes: writes.map(({ lease }) => stepsKey(lease.jid)) };
    const steps = writes.map(({ lease: { token }, step: { name, record } }) => ({ token, name, record }));
    try {
      const reply = await this.#context.client.run(SCRIPTS.stepRemember, { ...keys, steps }, {
        atOnce: true,
      }) as (number | string | null)[];
      const unwritten = new Map<number, string | undefined>();
      for (let i = 0; i < reply.length; i += 2) {
        unwritten.set(reply[i] as number - 1, reply[i + 1] as string | null ?? undefined);
      }
      for (const [i, { step, resolve }] of writes.entries()) {
        resolve(unwritten.has(i) ? unwritten.get(i) : step.record);
      }
    } catch (error) {
      // A step that Redis can't store (a key of the wrong type) doesn't fail those that share its script.
      if (writes.length > 1 && error instanceof StoreError && !error.transient) {
        for (const write of writes) void this.#write(worker, [write]);
        return;
      }
      for (const { reject } of writes) reject(error);
    }
  }
}
