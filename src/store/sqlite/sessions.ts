/**
 * The sessions part of the port.
 *
 * @module
 */
import { MAX_SESSIONS, newSessionKey, type SessionStore } from "../admin/sessions.ts";
import type { Context } from "./context.ts";

/** Returns the part. */
export function sessionsPart({ commit, read, sql, now }: Context): SessionStore {
  const storedKey = () => sql("SELECT value FROM session_key").get()?.value as string | undefined;
  return {
    async key() {
      return await read(storedKey) ?? await commit.run(() => {
        sql("INSERT OR IGNORE INTO session_key (id, value) VALUES (1, ?)").run(newSessionKey());
        return storedKey()!;
      });
    },
    begin: ({ user, id, expiresAt, ttlMs }) =>
      commit.run(() => {
        sql("DELETE FROM session WHERE kept_until <= ?").run(now());
        sql("INSERT OR REPLACE INTO session (user, id, expires, kept_until) VALUES (?, ?, ?, ?)")
          .run(user, id, expiresAt, now() + ttlMs);
        sql(
          `DELETE FROM session WHERE user = ?1 AND id IN
             (SELECT id FROM session WHERE user = ?1 ORDER BY expires DESC, id DESC LIMIT -1 OFFSET ?2)`,
        ).run(user, MAX_SESSIONS);
      }),
    isLive: (user, id) =>
      read(() => sql("SELECT 1 FROM session WHERE user = ? AND id = ?").get(user, id) !== undefined),
    end: (user, id) =>
      commit.run(() => {
        sql("DELETE FROM session WHERE user = ? AND id = ?").run(user, id);
      }),
  };
}
