/**
 * What the dead leave behind runs again.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { getField, setFields } from "../../src/job/raw.ts";
import type { StoreAdmin } from "../../src/store/admin.ts";
import type { Store } from "../../src/store/store.ts";
import type { Cases } from "./harness.ts";
import {
  assertSamePayload,
  entries,
  job,
  jobs,
  lapse,
  numbers,
  numbersIn,
  register,
  rescueFor,
  RESCUER,
  takeUpTo,
} from "./jobs.ts";

const NOTHING = { rescued: 0, buried: 0, owners: [], waits: false };
const QUEUE = { in: "queue", queue: "default" } as const;

export const rescue: Cases = {
  "leases of a process that did not beat in time are at the front of their queues, in their order": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.enqueue([...jobs(1, 6), job(10, { queue: "mail" }), job(11, { queue: "mail" })]);
    await takeUpTo(t.store, owner, 2);
    await takeUpTo(t.store, owner, 2);
    await takeUpTo(t.store, owner, 1, ["mail"]);
    await lapse(t);
    assertEquals(await rescueFor(t.store), { rescued: 5, buried: 0, owners: [owner], waits: false });
    assertEquals(await numbersIn(t.store, QUEUE), [1, 2, 3, 4, 5, 6]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "mail" }), [10, 11]);
    const { leased, processes } = await t.store.stats();
    assertEquals([leased, processes], [0, 1]);
    assertEquals(await workers(t.store), [RESCUER]);
  },

  "each has its field rescues one higher, and nothing else is touched": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.enqueue([job(1), job(2, { payload: setFields(job(2).payload, { rescues: "1" }) })]);
    const stored = await takeUpTo(t.store, owner);
    await lapse(t);
    await rescueFor(t.store);
    const after = await entries(t.store, QUEUE);
    assertEquals(after.map((entry) => getField(entry.payload, "rescues")), [1, 2]);
    assertSamePayload(after[0]!.payload, stored[0]!.payload, ["rescues"]);
    assertEquals(after[1]!.payload, setFields(stored[1]!.payload, { rescues: "2" }));
  },

  "a count of rescues that others wrote, and that is none, does not keep a job from ever ending": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.enqueue([job(1, { payload: setFields(job(1).payload, { rescues: "-1000000" }) })]);
    await takeUpTo(t.store, owner);
    await lapse(t);
    await rescueFor(t.store);
    assertEquals(getField((await entries(t.store, QUEUE))[0]!.payload, "rescues"), 1);
  },

  "a live process keeps its leases": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.enqueue([job(1)]);
    await takeUpTo(t.store, owner);
    await lapse(t);
    await register(t.store, owner);
    assertEquals(await rescueFor(t.store), NOTHING);
    assertEquals(await numbersIn(t.store, { in: "leased" }), [1]);
  },

  "the third rescue of a job buries it": async (open) => {
    await using t = await open();
    await t.store.enqueue([job(1), job(2)]);
    for (const [rescued, buried] of [[1, 0], [1, 0], [0, 1]] as const) {
      const owner = await register(t.store);
      await takeUpTo(t.store, owner, 1);
      await lapse(t);
      assertEquals(await rescueFor(t.store), { rescued, buried, owners: [owner], waits: false });
    }
    assertEquals(await numbersIn(t.store, QUEUE), [2]);
    const [dead] = await entries(t.store, { in: "dead" });
    assertEquals([getField(dead!.payload, "jid"), getField(dead!.payload, "rescues")], [job(1).jid, 3]);
    assertEquals((await t.store.stats()).leased, 0);
  },

  "one that is not readable goes to dead, as it is": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    for (const text of ["{not json", "[]"]) await t.pushRaw("default", text);
    await takeUpTo(t.store, owner);
    await lapse(t);
    assertEquals(await rescueFor(t.store), { rescued: 0, buried: 2, owners: [owner], waits: false });
    assertEquals((await entries(t.store, { in: "dead" })).map((entry) => entry.payload).sort(), ["[]", "{not json"]);
  },

  "in many steps the order is the same": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.enqueue(jobs(1, 8));
    await takeUpTo(t.store, owner, 7);
    await lapse(t);
    let rescued = 0;
    const owners = new Set<string>();
    for (let steps = 0; rescued < 7; steps++) {
      const step = await rescueFor(t.store, 3, 3);
      assert(step.rescued <= 3 && steps < 4);
      rescued += step.rescued;
      for (const one of step.owners) owners.add(one);
    }
    await rescueFor(t.store, 3, 3);
    assertEquals(await numbersIn(t.store, QUEUE), [1, 2, 3, 4, 5, 6, 7, 8]);
    assertEquals([...owners], [owner]);
    assertEquals((await t.store.stats()).leased, 0);
  },

  "the leases of several dead processes": async (open) => {
    await using t = await open();
    const first = await register(t.store, "host:1:aaaaaaaaaaaa");
    const second = await register(t.store, "host:2:bbbbbbbbbbbb");
    const idle = await register(t.store, "host:3:cccccccccccc");
    await t.store.enqueue(jobs(1, 4));
    await takeUpTo(t.store, first, 2);
    await takeUpTo(t.store, second, 2);
    await lapse(t);
    const { rescued, owners } = await rescueFor(t.store);
    assertEquals(rescued, 4);
    assertEquals([...owners].sort(), [first, second, idle]);
    assertEquals((await numbersIn(t.store, QUEUE)).sort(), [1, 2, 3, 4]);
    assertEquals(await workers(t.store), [RESCUER]);
    assertEquals(await rescueFor(t.store), NOTHING);
  },

  "a process that took after it had been forgotten is no one's blind spot": async (open) => {
    await using t = await open();
    const frozen = await register(t.store);
    await t.store.enqueue(jobs(1, 2));
    await lapse(t);
    assertEquals((await rescueFor(t.store)).owners, [frozen]);
    await takeUpTo(t.store, frozen);
    assertEquals((await rescueFor(t.store)).waits, true, "it may beat soon");
    await lapse(t);
    await rescueFor(t.store);
    assertEquals(await numbersIn(t.store, QUEUE), [1, 2]);
  },

  "two who rescue at once rescue each job once": async (open) => {
    await using t = await open();
    const other = await t.another();
    const owner = await register(t.store);
    await t.store.enqueue(jobs(1, 50));
    await takeUpTo(t.store, owner);
    await lapse(t);
    const steps = await Promise.all([rescueFor(t.store), rescueFor(other)]);
    assertEquals(steps[0].rescued + steps[1].rescued, 50);
    assertEquals(await numbersIn(t.store, QUEUE), jobs(1, 50).map((_, i) => i + 1));
    assertEquals(await rescuesOf(t.store), jobs(1, 50).map(() => 1));
  },

  "deregister gives back to the front, in order, and counts no rescue": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.enqueue(jobs(1, 4));
    const leases = await takeUpTo(t.store, owner, 3);
    await t.store.settle(owner, [{ kind: "ack", token: leases[1]!.token }]);
    await t.store.deregister(owner);
    assertEquals(await numbersIn(t.store, QUEUE), [1, 3, 4]);
    assertEquals((await entries(t.store, QUEUE))[0]!.payload, leases[0]!.payload);
    assertEquals(await t.store.processes(), []);
    assertEquals((await t.store.settle(owner, [{ kind: "ack", token: leases[0]!.token }])).lost, [leases[0]!.token]);
  },

  "deregister leaves the leases of others alone": async (open) => {
    await using t = await open();
    const owner = await register(t.store, "host:1:aaaaaaaaaaaa");
    const other = await register(t.store, "host:2:bbbbbbbbbbbb");
    await t.store.enqueue(jobs(1, 2));
    await takeUpTo(t.store, owner, 1);
    const [lease] = await takeUpTo(t.store, other, 1);
    await t.store.deregister(owner);
    await t.store.deregister("host:9:never0was0000");
    assertEquals(numbers(await entries(t.store, { in: "leased" })), [2]);
    assertEquals((await t.store.settle(other, [{ kind: "ack", token: lease!.token }])).lost, []);
  },
};

/** The workers that the store knows. */
async function workers(store: StoreAdmin): Promise<string[]> {
  return (await store.processes()).map(({ identity }) => identity);
}

/** Takes everything there is, and reads how often each was rescued. */
async function rescuesOf(store: Store): Promise<unknown[]> {
  const owner = await register(store, "host:9:dddddddddddd");
  return (await takeUpTo(store, owner)).map((lease) => getField(lease.payload, "rescues"));
}
