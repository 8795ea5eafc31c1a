/**
 * The sessions part of the store port: what the processes that serve the dashboard of a store share, so that it doesn't matter
 * which of them answers a request.
 *
 * @module
 */

/** A session of a user who has logged in. */
export interface NewSession {
  /** The account. */
  readonly user: string;
  /** Identifies the session. */
  readonly id: string;
  /** When it expires, in epoch milliseconds: its reader checks that. */
  readonly expiresAt: number;
  /** It is kept for this many milliseconds. */
  readonly ttlMs: number;
}

/** Keeps the key and the live sessions of dashboards. An ended session is one that isn't kept: nothing has to be remembered. */
export interface SessionStore {
  /**
   * Returns the key that signs sessions and forms. The first call creates it, in two round trips. It is the same for every process.
   */
  key(): Promise<string>;

  /**
   * Keeps a session for `ttlMs`; with 0 it ends. A user's sessions beyond {@linkcode MAX_SESSIONS} end, first those that expire
   * first.
   */
  keep(session: NewSession): Promise<void>;

  /** Returns whether a session is kept. */
  isLive(user: string, id: string): Promise<boolean>;
}

/** Sessions that are kept of one user. Logins of one user end no session of another. */
export const MAX_SESSIONS = 1_000;

/** Returns a new key. */
export function newSessionKey(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toHex();
}
