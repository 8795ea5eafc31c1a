/**
 * The key and the sessions that the dashboards of a store share.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { MAX_SESSIONS } from "../../src/store/admin/sessions.ts";
import type { Cases } from "./harness.ts";
import { HOUR_MS } from "./jobs.ts";

const EXPIRES_AT = 1_800_000_000_000;
const session = (user: string, id: string, more = {}) => ({ user, id, expiresAt: EXPIRES_AT, ttlMs: HOUR_MS, ...more });

export const sessions: Cases = {
  "has one key, however many processes ask for it at once": async (open) => {
    await using t = await open();
    const others = await Promise.all([t.another(), t.another()]);
    const keys = await Promise.all([t.store, ...others].map((store) => store.sessions.key()));
    assertEquals(new Set(keys).size, 1);
    assertMatch(keys[0]!, /^[0-9a-f]{64}$/);
    await using elsewhere = await open();
    assertEquals(await elsewhere.store.sessions.key() === keys[0], false);
  },

  "a session is live in every process until one of them ends it": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.sessions.keep(session("ann", "one"));
    await t.store.sessions.keep(session("ann", "two"));
    assertEquals(await other.sessions.isLive("ann", "one"), true);
    assertEquals(await other.sessions.isLive("bob", "one"), false);
    await other.sessions.keep(session("ann", "one", { ttlMs: 0 }));
    assertEquals([await t.store.sessions.isLive("ann", "one"), await t.store.sessions.isLive("ann", "two")], [
      false,
      true,
    ]);
    await t.store.sessions.keep(session("ann", "one", { ttlMs: 0 }));
  },

  "the sessions of a user beyond the maximum end, those that expire first; those of others stay": async (open) => {
    await using t = await open();
    await t.store.sessions.keep(session("ann", "hers", { expiresAt: 1 }));
    for (let i = 0; i <= MAX_SESSIONS; i++) {
      await t.store.sessions.keep(session("bob", `s${i}`, { expiresAt: EXPIRES_AT + i }));
    }
    const live = await Promise.all([
      t.store.sessions.isLive("bob", "s0"),
      t.store.sessions.isLive("bob", "s1"),
      t.store.sessions.isLive("bob", `s${MAX_SESSIONS}`),
      t.store.sessions.isLive("ann", "hers"),
    ]);
    assertEquals(live, [false, true, true, true]);
  },
};
