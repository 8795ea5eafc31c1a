/**
 * The audit log.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { type AuditEvent, readEvents, recordEvent } from "../../src/store/admin/audit.ts";
import { maxEntries } from "../../src/store/port/logs.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { HOUR_MS } from "./jobs.ts";

const EVENT: AuditEvent = { user: "ann", by: "cookie", from: "10.0.0.9", action: "retry" };

export const audit: Cases = {
  "keeps events with their time, and returns pages of them, the latest first": async (open) => {
    await using t = await open();
    const other = await t.another();
    assertEquals(await readEvents(t.store), { events: [] });
    const times: number[] = [];
    for (let i = 1; i <= 5; i++) {
      times.unshift(t.now());
      await recordEvent(i % 2 ? t.store : other, { ...EVENT, target: `job ${i}`, count: i });
      t.advance(HOUR_MS);
    }
    const first = await readEvents(other, { limit: 2 });
    assertEquals(first.events.map(({ target }) => target), ["job 5", "job 4"]);
    await recordEvent(t.store, { ...EVENT, target: "meanwhile" });
    const second = await readEvents(other, { limit: 2, cursor: first.next! });
    assertEquals(second.events.map(({ target, count }) => [target, count]), [["job 3", 3], ["job 2", 2]]);
    const third = await readEvents(other, { limit: 2, cursor: second.next! });
    assertEquals([third.events.length, third.next], [1, undefined]);
    for (const [i, { at }] of [...first.events, ...second.events, ...third.events].entries()) {
      assertAlmostEquals(at, times[i]!, SLACK_MS);
    }
    const { at: _, ...event } = third.events[0]!;
    assertEquals(event, { ...EVENT, target: "job 1", count: 1 });
  },

  "keeps any text of an event unchanged, up to its maximum length": async (open) => {
    await using t = await open();
    const hostile = `'"); DROP TABLE log; --\u0000\u2028\ud800<x>`;
    await recordEvent(t.store, { ...EVENT, user: hostile, target: "x".repeat(1_000_000), outcome: "refused: \n why" });
    const [event] = (await readEvents(t.store)).events;
    assertEquals([event!.user, event!.target!.length, event!.outcome], [
      hostile.toWellFormed(),
      1_000,
      "refused: \n why",
    ]);
  },

  "drops the oldest events beyond the maximum": async (open) => {
    await using t = await open();
    assertEquals(maxEntries("audit"), 10_000);
    const { shortLog: log = "audit" } = t;
    const [most, more] = [maxEntries(log), 20];
    for (let i = 0; i < most + more;) {
      const batch = Math.min(500, most + more - i);
      await Promise.all(Array.from({ length: batch }, () => t.store.logs.add(log, String(i++))));
    }
    const { entries, next } = await t.store.logs.page(log, { limit: most + more });
    assertEquals([entries.length, next], [most, undefined]);
    assertEquals(Math.min(...entries.map(({ text }) => Number(text))), more);
  },
};
