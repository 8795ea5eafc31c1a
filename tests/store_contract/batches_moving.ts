/**
 * Operations on a batch whose members move, end and are added between all of their steps.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { countedAs, countedIn } from "../../src/job/batch.ts";
import { getField, setFields } from "../../src/job/raw.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { checkBatch } from "../../src/store/ops/batch_check.ts";
import { cancelBatch } from "../../src/store/ops/batches.ts";
import type { NewBatch } from "../../src/store/port/batches.ts";
import type { Lease } from "../../src/store/port/jobs.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { Random } from "../soak/random.ts";
import { type Call, interceptStore } from "../support/intercept.ts";
import type { Cases, TestStore } from "./harness.ts";
import { entries, HOUR_MS, jid, job, register, takeUpTo } from "./jobs.ts";

const SEEDS = [1, 2, 3];
const OUTER = `b${jid(1).slice(1)}`;
const INNER = `b${jid(2).slice(1)}`;
const FLOW = `b${jid(3).slice(1)}`;
const MEMBERS = 12;

/** Members of a batch and of one nested in it, and a worker that moves them. */
class Motion {
  /** Leases of members that were taken unmarked. */
  leases: Lease[] = [];
  readonly #t: TestStore;
  readonly #worker: string;
  readonly #random: Random;
  #number = 0;

  private constructor(t: TestStore, worker: string, seed: number) {
    [this.#t, this.#worker, this.#random] = [t, worker, new Random(seed)];
  }

  static async start(t: TestStore, seed: number): Promise<Motion> {
    const motion = new Motion(t, await register(t.store), seed);
    const batch = (id: string, more: Partial<NewBatch> = {}) =>
      t.store.batches.create({ id, callbacks: {}, closeWithinMs: 999 * HOUR_MS, keepMs: 999 * HOUR_MS, ...more });
    await batch(OUTER);
    await batch(INNER, { parent: { id: OUTER } });
    await batch(FLOW, { parent: { id: OUTER }, flow: true });
    for (let i = 0; i < MEMBERS; i++) await motion.#add(i % 4 === 0 ? INNER : OUTER);
    await t.store.batches.close(INNER, "closed");
    return motion;
  }

  /** Returns the store with a move before and after each call. */
  store(change: (call: Call) => Promise<unknown> = ({ pass }) => pass()): Store {
    return interceptStore(this.#t.store, async (call) => {
      await this.move();
      const reply = await change(call);
      await this.move();
      return reply;
    });
  }

  /** Makes one random move. */
  async move(): Promise<void> {
    const moves = [
      { weight: 4, run: () => this.#take() },
      { weight: 6, run: () => this.#settle() },
      { weight: 4, run: () => this.#requeue("retry") },
      { weight: 4, run: () => this.#requeue("scheduled") },
      { weight: 1, run: () => this.#requeue("dead") },
      { weight: 1, run: () => this.#add(OUTER) },
    ];
    await this.#random.pick(moves).run();
  }

  /** Takes and ends a job whose batch isn't changed, as a program without batches does. */
  async lose(): Promise<void> {
    const { store } = this.#t;
    await this.#add(OUTER);
    for (;;) {
      await this.#take();
      const lease = this.leases.find(({ payload }) => countedIn(payload)?.id === OUTER);
      if (lease === undefined) continue;
      this.leases.splice(this.leases.indexOf(lease), 1);
      return void await store.jobs.settle(this.#worker, [{ kind: "ack", token: lease.token }]);
    }
  }

  async #add(id: string): Promise<void> {
    const plain = job(++this.#number + 0x100);
    const payload = setFields(plain.payload, { batch: `"${id}"`, batch_counted: `"pending"` });
    await this.#t.store.jobs.enqueue([{ ...plain, payload, batch: { id } }]);
  }

  async #take(): Promise<void> {
    for (const lease of await takeUpTo(this.#t.store, this.#worker, 2)) {
      if (lease.cancelled) await this.#end(lease, "ack", "cancelled");
      else this.leases.push(lease);
    }
  }

  async #settle(): Promise<void> {
    if (this.leases.length === 0) return;
    const [lease] = this.leases.splice(this.#random.between(0, this.leases.length - 1), 1) as [Lease];
    const { token, payload } = lease;
    const later = { token, delayMs: HOUR_MS, payload };
    const how = this.#random.pick([
      { weight: 1, run: () => this.#end(lease, "ack") },
      { weight: 1, run: () => this.#end(lease, "bury") },
      { weight: 3, run: () => this.#settled({ kind: "retry", ...later }) },
      { weight: 3, run: () => this.#settled({ kind: "snooze", ...later }) },
      { weight: 2, run: () => this.#settled({ kind: "release", token }) },
    ]);
    await how.run();
  }

  #end({ token, payload }: Lease, kind: "ack" | "bury", ended: "succeeded" | "cancelled" = "succeeded"): Promise<void> {
    const { id, counted: from } = countedIn(payload)!;
    return this.#settled(
      kind === "ack"
        ? { kind, token, batch: { id, from, to: ended } }
        : { kind, token, payload: countedAs(payload, "dead"), batch: { id, from, to: "dead" } },
    );
  }

  async #settled(outcome: Outcome): Promise<void> {
    await this.#t.store.jobs.settle(this.#worker, [outcome]);
  }

  async #requeue(place: "retry" | "scheduled" | "dead"): Promise<void> {
    const found = await entries(this.#t.store, { in: place });
    const one = found[this.#random.between(0, found.length - 1)];
    if (one !== undefined) await this.#t.store.jobs.edit([one.ref], "requeue");
  }
}

/** Asserts that the counters of a batch are those of its members in the store. */
async function assertRight({ store }: TestStore, id: string): Promise<void> {
  const counted = await store.batches.count(id);
  assert(typeof counted === "object");
  const { batch, pending, dead } = counted;
  assertEquals([batch.pending, batch.dead], [pending, dead], id);
}

/** Makes a check read the places one after the other. */
const asLarge = ({ verb, pass }: Call) => verb === "batches.count" ? Promise.resolve("large") : pass();

export const batchesMoving: Cases = {
  "a check finds no difference in right counters": async (open) => {
    for (const seed of SEEDS) {
      await using t = await open();
      const motion = await Motion.start(t, seed);
      for (let i = 0; i < 10; i++) {
        for (const id of [OUTER, INNER]) assertEquals((await checkBatch(motion.store(), id))?.result, "right");
        await assertRight(t, OUTER);
      }
    }
  },

  "a check by several readings corrects no right counters": async (open) => {
    for (const seed of SEEDS) {
      await using t = await open();
      const motion = await Motion.start(t, seed);
      for (let i = 0; i < 5; i++) {
        const checked = await checkBatch(motion.store(asLarge), OUTER);
        assert(checked?.result !== "corrected", JSON.stringify(checked));
        await assertRight(t, OUTER);
      }
      // As soon as nothing moves it is certain.
      const still = interceptStore(t.store, asLarge);
      assertEquals((await checkBatch(still, OUTER))?.result, "right");
      await motion.lose();
      assertEquals([(await checkBatch(still, OUTER))?.result], ["corrected"]);
      await assertRight(t, OUTER);
    }
  },

  "a check by several readings finds a member that moves against their order": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.batches.create({ id: OUTER, callbacks: {}, closeWithinMs: HOUR_MS, keepMs: HOUR_MS });
    const plain = job(1, { queue: "other" });
    const payload = setFields(plain.payload, { batch: `"${OUTER}"`, batch_counted: `"pending"` });
    await t.store.jobs.enqueue([{ ...plain, payload, batch: { id: OUTER } }]);
    // It leaves its queue before that is read, for a place that was read before, and returns at the end of each reading.
    const store = interceptStore(t.store, async (call) => {
      if (call.verb === "admin.page" && (call.args[0] as { queue?: string }).queue === "other") {
        const [lease] = await takeUpTo(t.store, worker, 1, ["other"]);
        if (lease) await t.store.jobs.settle(worker, [{ kind: "snooze", ...lease, delayMs: HOUR_MS }]);
      } else if (call.verb === "batches.get") {
        const [waiting] = await entries(t.store, { in: "scheduled" });
        if (waiting) await t.store.jobs.edit([waiting.ref], "requeue");
      }
      return await asLarge(call);
    });
    assertEquals((await checkBatch(store, OUTER))?.result, "right");
  },

  "a check finds a member that another program removed, and a changed counter": async (open) => {
    for (const seed of SEEDS) {
      await using t = await open();
      const motion = await Motion.start(t, seed);
      await motion.lose();
      assertEquals((await checkBatch(motion.store(), OUTER))?.result, "corrected");
      await assertRight(t, OUTER);
      const { version } = (await t.store.batches.read({ ids: [OUTER] })).batches[0]!;
      await t.store.batches.correct(OUTER, { pending: 99, dead: 5, version });
      assertEquals((await checkBatch(motion.store(), OUTER))?.result, "corrected");
      await assertRight(t, OUTER);
    }
  },

  "after a cancel no member starts": async (open) => {
    for (const seed of SEEDS) {
      await using t = await open();
      const motion = await Motion.start(t, seed);
      for (let i = 0; i < 20; i++) await motion.move();
      await cancelBatch(motion.store(), OUTER, t.now());
      const held = motion.leases.filter(({ payload }) => countedIn(payload)!.id === OUTER);
      const before = new Set(held.map(({ token }) => token));
      for (let i = 0; i < 100; i++) await motion.move();
      const started = motion.leases.filter(({ payload, token }) =>
        countedIn(payload)!.id === OUTER && !before.has(token)
      );
      assertEquals(started.map(({ payload }) => getField(payload, "jid")), []);
      await assertRight(t, OUTER);
    }
  },
};
