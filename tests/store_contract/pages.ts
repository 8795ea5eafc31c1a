/**
 * Lists in pages.
 *
 * @module
 */
import { readEvents } from "../../src/store/admin/audit.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Place } from "../../src/store/port/entries.ts";
import { CursorError } from "../../src/store/port/cursor.ts";
import type { Cases, TestStore } from "./harness.ts";
import { entries, HOUR_MS, inDead, jobs, numbers, numbersIn, register, takeUpTo } from "./jobs.ts";

const QUEUE: Place = { in: "queue", queue: "default" };
const PLACES: readonly Place[] = [QUEUE, { in: "scheduled" }, { in: "retry" }, { in: "dead" }, { in: "running" }];

export const pages: Cases = {
  "an empty place has one empty page": async (open) => {
    await using t = await open();
    for (const place of PLACES) assertEquals(await t.store.admin.page(place), { entries: [] });
  },

  "lists queues oldest first and sets earliest first, or in reverse": async (open) => {
    await using t = await open();
    await fill(t, 5);
    for (const place of PLACES.slice(0, 4)) {
      assertEquals(await numbersIn(t.store, place), [1, 2, 3, 4, 5], place.in);
      assertEquals(numbers(await entries(t.store, place, { reverse: true })), [5, 4, 3, 2, 1], place.in);
    }
  },

  "lists each entry on one page, and the last page has no cursor": async (open) => {
    await using t = await open();
    await fill(t, 4);
    for (const place of PLACES.slice(0, 4)) {
      for (const reverse of [false, true]) {
        const first = await t.store.admin.page(place, { limit: 2, reverse });
        assertEquals(numbers(first.entries), reverse ? [4, 3] : [1, 2], place.in);
        const second = await t.store.admin.page(place, { limit: 2, reverse, cursor: first.next! });
        assertEquals(numbers(second.entries), reverse ? [2, 1] : [3, 4], place.in);
        assertEquals(second.next, undefined);
        assertEquals(
          numbers(await entries(t.store, place, { limit: 3, reverse })),
          reverse ? [4, 3, 2, 1] : [1, 2, 3, 4],
        );
      }
    }
  },

  "lists leases": async (open) => {
    await using t = await open();
    const first = await register(t.store, "host:1:aaaaaaaaaaaa");
    const second = await register(t.store, "host:2:bbbbbbbbbbbb");
    await t.store.jobs.enqueue(jobs(1, 7));
    await takeUpTo(t.store, first, 4);
    await takeUpTo(t.store, second, 3);
    const all = await entries(t.store, { in: "running" }, { limit: 2 });
    assertEquals(numbers(all).sort(), [1, 2, 3, 4, 5, 6, 7]);
    assertEquals(all.filter((entry) => entry.worker === second).length, 3);
  },

  "a page has 25 entries by default": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 30));
    const page = await t.store.admin.page(QUEUE);
    assertEquals(page.entries.length, 25);
    assertEquals((await t.store.admin.page(QUEUE, { cursor: page.next! })).entries.length, 5);
  },

  "lists all entries with the same due time": async (open) => {
    await using t = await open();
    const at = Math.round(t.now()) + HOUR_MS;
    await t.store.jobs.enqueue(jobs(1, 10, { at }));
    assertEquals(new Set(await pageByPage(t, { in: "scheduled" }, 3)).size, 10);
  },

  "lists remaining entries once when others leave between two pages": async (open) => {
    await using t = await open();
    await fill(t, 6);
    for (const place of PLACES.slice(0, 4)) {
      const first = await t.store.admin.page(place, { limit: 3 });
      await t.store.jobs.edit([first.entries[0]!.ref, first.entries[1]!.ref], "delete");
      const second = await t.store.admin.page(place, { limit: 3, cursor: first.next! });
      // An adapter that counts from the front skips as many as have left. It never shows one twice.
      const seen = numbers(second.entries);
      assert(seen.every((n) => [4, 5, 6].includes(n as number)), `${place.in}: ${seen}`);
      assertEquals(new Set(seen).size, seen.length);
    }
  },

  "an entry names its place": async (open) => {
    await using t = await open();
    await fill(t, 1);
    for (const place of PLACES) {
      const [entry] = await entries(t.store, place);
      assertEquals(entry!.place, place);
      assertEquals(entry!.at === undefined, place.in === "queue");
      assertEquals(entry!.worker === undefined, place.in !== "running");
    }
  },

  "rejects an invalid cursor": async (open) => {
    await using t = await open();
    await fill(t, 2);
    for (const cursor of NO_CURSORS) {
      const refused = (page: Promise<unknown>) =>
        assertRejects(() => page, CursorError, `Invalid cursor ${JSON.stringify(cursor)}: expected `);
      for (const place of PLACES) await refused(t.store.admin.page(place, { cursor }));
      await refused(t.store.results.read({ cursor }));
      await refused(readEvents(t.store, { cursor }));
    }
  },
};

/** Cursors that no list returned. */
const NO_CURSORS = ["", "nonsense", "-1", "1e3", "1.x", "+inf", "(1", "9".repeat(40), "queue~0", "\0"];

/** Puts the jobs 1 … n into every place. */
async function fill(t: TestStore, n: number): Promise<void> {
  const worker = await register(t.store);
  const each = jobs(1, n).map((one, i) => ({ ...one, queue: "fill", at: Math.round(t.now()) + HOUR_MS + i * 1_000 }));
  for (const one of each) {
    await inDead(t.store, worker, [{ ...one, at: 0 }]);
    t.advance(1);
    await t.store.jobs.enqueue([{ ...one, at: 0 }]);
    const [lease] = await takeUpTo(t.store, worker, 1, ["fill"]);
    const delayMs = one.at - t.now();
    await t.store.jobs.settle(worker, [{ kind: "retry", token: lease!.token, delayMs, payload: one.payload }]);
  }
  await t.store.jobs.enqueue(each);
  await t.store.jobs.enqueue(jobs(1, n));
  await t.store.jobs.enqueue(jobs(1, n, { queue: "leased" }));
  await takeUpTo(t.store, worker, n, ["leased"]);
}

async function pageByPage(t: TestStore, place: Place, limit: number): Promise<unknown[]> {
  return numbers(await entries(t.store, place, { limit }));
}
