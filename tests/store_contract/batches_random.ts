/**
 * A random program of batches against a model: after each step, the counters are the model's, and each callback was pushed
 * once.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { countedAs, countedIn } from "../../src/job/batch.ts";
import { getField, setFields } from "../../src/job/raw.ts";
import { endedText } from "../../src/job/result.ts";
import type { Entry } from "../../src/store/port/entries.ts";
import type { Lease } from "../../src/store/port/jobs.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import type { Cases } from "./harness.ts";
import { entries, HOUR_MS, jid, job, lapse, register, rescueAll, takeUpTo } from "./jobs.ts";

const STEPS = 260;
const SEEDS = [1, 2, 3];
const STATES = ["pending", "dead", "succeeded", "failed", "cancelled", "expired", "deleted"] as const;
type State = typeof STATES[number];

/** Returns numbers from 0 to `count` - 1, the same for a seed. */
function generator(seed: number): (count: number) => number {
  let state = seed;
  return (count) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

export const batchesRandom: Cases = {
  "a random program: the counters equal the model's at every step, and callbacks are pushed once": async (open) => {
    for (const seed of SEEDS) await program(open, seed);
  },
};

async function program(open: Parameters<Cases[string]>[0], seed: number): Promise<void> {
  await using t = await open();
  const { store } = t;
  const random = generator(seed);
  const worker = await register(store);
  const id = jid(0xb0 + seed);
  const events = ["success", "complete", "death", "abandoned"] as const;
  const callbacks = Object.fromEntries(events.map((event) => {
    const payload = `{"class":"C","args":["${event}"],"jid":"${id}-${event}","queue":"callbacks"}`;
    return [event, { jid: `${id}-${event}`, class: "C", queue: "callbacks", payload }];
  }));
  await store.batches.create({ id, callbacks, closeWithinMs: 999 * HOUR_MS, keepMs: 999 * HOUR_MS });
  const members = new Map<string, State>();
  const pushed = new Set<string>();
  let closed = false;
  let leases: Lease[] = [];
  let number = 0;
  const is = (state: State) => [...members.values()].filter((one) => one === state).length;
  const set = (payload: string, state: State) => members.set(String(getField(payload, "jid")), state);
  const pick = <T>(list: readonly T[]): T | undefined => list[random(list.length)];

  const enqueue = async (token?: string) => {
    const plain = job(++number);
    const payload = setFields(plain.payload, { batch: `"${id}"`, batch_counted: `"pending"` });
    const batch = { id, ...(token !== undefined && { by: { worker, token } }) };
    const [result] = await store.jobs.enqueue([{ ...plain, payload, batch, ...(random(4) === 0 && { delayMs: 1 }) }]);
    const accepts = !closed || token !== undefined;
    assertEquals(result, accepts ? { kind: "stored" } : { kind: "refused", batch: "closed" });
    if (accepts) members.set(plain.jid, "pending");
  };
  const settle = async (outcome: (lease: Lease) => Outcome, state: State) => {
    const lease = leases.splice(random(leases.length), 1)[0];
    if (lease === undefined) return;
    await store.jobs.settle(worker, [outcome(lease)]);
    set(lease.payload, state);
  };
  const ended = (
    { token, payload }: Lease,
    kind: "ack" | "discard",
    to: "succeeded" | "failed" | "expired",
  ): Outcome => ({
    kind,
    token,
    batch: { id, from: countedIn(payload)!.counted, to },
  });
  const somewhere = async (): Promise<Entry | undefined> => {
    const places = [{ in: "queue", queue: "default" }, { in: "scheduled" }, { in: "retry" }, { in: "dead" }] as const;
    return pick(await entries(store, places[random(places.length)]!));
  };

  for (let step = 0; step < STEPS; step++) {
    switch (random(13)) {
      case 0:
      case 1:
        await enqueue();
        break;
      case 2:
        await enqueue(leases[0]?.token);
        break;
      case 3:
      case 4:
        leases.push(...await takeUpTo(store, worker, 1 + random(3)));
        break;
      case 5:
        await settle((lease) => ended(lease, "ack", "succeeded"), "succeeded");
        break;
      case 6:
        if (random(2) === 0) await settle((lease) => ended(lease, "discard", "failed"), "failed");
        else await settle((lease) => ended(lease, "ack", "expired"), "expired");
        break;
      case 7:
        await settle(({ token, payload }) => ({
          ...{ kind: "bury", token, payload: countedAs(payload, "dead") },
          batch: { id, from: countedIn(payload)!.counted, to: "dead" },
        }), "dead");
        break;
      case 8:
        await settle(
          ({ token, payload }) =>
            random(2) === 0 ? { kind: "release", token } : { kind: "retry", token, delayMs: 1, payload },
          "pending",
        );
        break;
      case 9: {
        const entry = await somewhere();
        const edit = (["requeue", "delete", "kill"] as const)[random(3)]!;
        if (entry === undefined || await store.jobs.edit([entry.ref], edit) === 0) break;
        set(entry.payload, edit === "requeue" ? "pending" : edit === "kill" ? "dead" : "deleted");
        break;
      }
      case 10: {
        const entry = await somewhere();
        if (entry === undefined || entry.place.in === "dead") break;
        const one = String(getField(entry.payload, "jid"));
        const body = endedText({ jid: one, class: "HardJob", queue: "default", state: "cancelled", endedAt: 1 });
        const edit = { cancel: { jid: one, ttlMs: HOUR_MS, body } };
        if (await store.jobs.edit([entry.ref], edit) === 1) set(entry.payload, "cancelled");
        break;
      }
      case 11:
        t.advance(1_000);
        await store.jobs.promote(100);
        break;
      default:
        // Rarely: the worker dies, and its jobs are rescued; or the batch is closed.
        if (random(8) === 0) {
          await lapse(t);
          await rescueAll(store);
          await register(store, worker);
          leases = [];
        } else if (step > STEPS / 2 && !closed) {
          closed = true;
          await store.batches.close(id, "closed");
        }
    }
    // The callbacks that the model expects now. Pushed ones stay.
    if (is("dead") + is("failed") > 0) pushed.add("death");
    if (closed && is("pending") === 0) pushed.add("complete");
    if (closed && is("succeeded") === members.size) pushed.add("success");
    const batch = (await store.batches.read({ ids: [id] })).batches[0]!;
    const counts = Object.fromEntries(STATES.map((state) => [state, batch[state]]));
    const model = Object.fromEntries(STATES.map((state) => [state, is(state)]));
    const found = (await entries(store, { in: "queue", queue: "callbacks" })).map(({ payload }) =>
      (getField(payload, "args") as string[])[0]
    );
    const where = `seed ${seed}, step ${step}`;
    assertEquals([batch.total, counts, found.toSorted()], [members.size, model, [...pushed].sort()], where);
  }
}
