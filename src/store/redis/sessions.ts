/**
 * The sessions part of the port: a key, and a sorted set for each user. Its commands may be sent again.
 *
 * @module
 */
import { MAX_SESSIONS, newSessionKey, type SessionStore } from "../admin/sessions.ts";
import type { Context } from "./context.ts";
import { SESSION_KEY, sessionsKey } from "./keys.ts";

/** Returns the part. */
export function sessionsPart({ client }: Context): SessionStore {
  return {
    async key() {
      const key = await client.call(["GET", SESSION_KEY]) as string | null;
      if (key !== null) return key;
      const created = newSessionKey();
      return await client.call(["SET", SESSION_KEY, created, "NX", "GET"]) as string | null ?? created;
    },
    async keep({ user, id, expiresAt, ttlMs }) {
      const key = sessionsKey(user);
      if (ttlMs <= 0) return void await client.call(["ZREM", key, id]);
      await Promise.all([
        client.call(["ZADD", key, `${expiresAt}`, id]),
        client.call(["ZREMRANGEBYRANK", key, "0", `${-MAX_SESSIONS - 1}`]),
        client.call(["PEXPIRE", key, `${ttlMs}`]),
      ]);
    },
    async isLive(user, id) {
      return await client.call(["ZSCORE", sessionsKey(user), id]) !== null;
    },
  };
}
