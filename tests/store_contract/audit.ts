/**
 * The audit log.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { type AuditEvent, MAX_ACTS } from "../../src/store/admin/audit.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { HOUR_MS } from "./jobs.ts";

const ACT: AuditEvent = { user: "ann", by: "cookie", from: "10.0.0.9", action: "retry" };

export const audit: Cases = {
  "keeps events with their time, and returns pages of them, the latest first": async (open) => {
    await using t = await open();
    const other = await t.another();
    assertEquals(await t.store.audit.page(), { acts: [] });
    const times: number[] = [];
    for (let i = 1; i <= 5; i++) {
      times.unshift(t.now());
      await (i % 2 ? t.store : other).audit.record({ ...ACT, target: `job ${i}`, count: i });
      t.advance(HOUR_MS);
    }
    const first = await other.audit.page({ limit: 2 });
    assertEquals(first.acts.map(({ target }) => target), ["job 5", "job 4"]);
    await t.store.audit.record({ ...ACT, target: "meanwhile" });
    const second = await other.audit.page({ limit: 2, cursor: first.next! });
    assertEquals(second.acts.map(({ target, count }) => [target, count]), [["job 3", 3], ["job 2", 2]]);
    const third = await other.audit.page({ limit: 2, cursor: second.next! });
    assertEquals([third.acts.length, third.next], [1, undefined]);
    for (const [i, { at }] of [...first.acts, ...second.acts, ...third.acts].entries()) {
      assertAlmostEquals(at, times[i]!, SLACK_MS);
    }
    const { at: _, ...act } = third.acts[0]!;
    assertEquals(act, { ...ACT, target: "job 1", count: 1 });
  },

  "keeps any text of an event unchanged, up to its maximum length": async (open) => {
    await using t = await open();
    const hostile = `'"); DROP TABLE act; --\u0000\u2028\ud800<x>`;
    await t.store.audit.record({ ...ACT, user: hostile, target: "x".repeat(1_000_000), outcome: "refused: \n why" });
    const [act] = (await t.store.audit.page()).acts;
    assertEquals([act!.user, act!.target!.length, act!.outcome], [hostile.toWellFormed(), 1_000, "refused: \n why"]);
  },

  "drops the oldest events beyond the maximum": async (open) => {
    await using t = await open();
    const more = 20;
    for (let i = 0; i < MAX_ACTS + more;) {
      const batch = Math.min(500, MAX_ACTS + more - i);
      await Promise.all(Array.from({ length: batch }, () => t.store.audit.record({ ...ACT, count: i++ })));
    }
    const { acts, next } = await t.store.audit.page({ limit: MAX_ACTS + more });
    assertEquals([acts.length, next], [MAX_ACTS, undefined]);
    assertEquals(Math.min(...acts.map(({ count }) => count!)), more);
  },
};
