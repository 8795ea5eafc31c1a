/**
 * The sessions part of the port.
 *
 * @module
 */
import { MAX_SESSIONS, newSessionKey, type SessionStore } from "../admin/sessions.ts";
import { type Body, type Engine, query } from "./body.ts";

/** Returns the part. */
export function sessionsPart({ write, read }: Engine): SessionStore {
  return {
    async key() {
      return await read(storedKey) ?? await write(function* () {
        yield query("INSERT INTO session_key (id, value) VALUES (1, ?1) ON CONFLICT (id) DO NOTHING", [
          newSessionKey(),
        ]);
        return (yield* storedKey())!;
      });
    },
    keep: ({ user, id, expiresAt, ttlMs }) =>
      write(function* (now) {
        yield query("DELETE FROM session WHERE kept_until <= ?1", [now]);
        yield query(`DELETE FROM session WHERE "user" = ?1 AND id = ?2`, [user, id]);
        if (ttlMs <= 0) return;
        yield query(`INSERT INTO session ("user", id, expires, kept_until) VALUES (?1, ?2, ?3, ?4)`, [
          ...[user, id, expiresAt, now + ttlMs],
        ]);
        yield query(
          `DELETE FROM session WHERE "user" = ?1 AND id IN
             (SELECT id FROM session WHERE "user" = ?1 ORDER BY expires DESC, id DESC LIMIT ?2 OFFSET ?2)`,
          [user, MAX_SESSIONS],
        );
      }),
    isLive: (user, id) =>
      read(function* () {
        return (yield query(`SELECT 1 FROM session WHERE "user" = ?1 AND id = ?2`, [user, id])).length > 0;
      }),
  };
}

function* storedKey(): Body<string | undefined> {
  const [row] = yield query("SELECT value FROM session_key");
  return row?.value as string | undefined;
}
