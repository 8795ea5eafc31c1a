/**
 * Sessions of users who logged in with a password or a token, each in a signed cookie; and the token that every form
 * carries. The key and the live sessions are in the store: all processes that serve its dashboard accept the same cookies and
 * forms, also after a restart, and a logout holds for each of them at once.
 *
 * @module
 */
import { createHash, createHmac, randomBytes } from "node:crypto";
import type { Clock } from "../../clock.ts";
import type { SessionStore } from "../../store/admin/sessions.ts";
import { equal } from "./accounts.ts";
import { SessionWatch } from "./session_watch.ts";

export interface Session {
  /** The account. */
  readonly name: string;
  readonly id: string;
  /** In epoch milliseconds. */
  readonly expiresAt: number;
}

const SESSION_MS = 12 * 3_600_000;
/** The key is read again after this time: the store may have been emptied, and another process may have made a new key. */
const KEY_TTL_MS = 60_000;

export class Sessions {
  readonly #clock: Clock;
  readonly #store: SessionStore;
  readonly #prefix: string;
  readonly #watch: SessionWatch<Session>;
  #key: { readonly value: string; readonly until: number } | undefined;

  /**
   * @param clock by which sessions expire
   * @param prefix precedes the paths of this dashboard
   */
  constructor(clock: Clock, store: SessionStore, prefix: string) {
    this.#clock = clock;
    this.#store = store;
    this.#prefix = prefix;
    this.#watch = new SessionWatch(clock, (session) => this.#isLive(session));
  }

  /** Returns the name of the cookie. Dashboards of other stores, or with another prefix, on the same host have other names. */
  async cookieName(): Promise<string> {
    return `jobs_session_${(await this.#sign("cookie", this.#prefix)).slice(0, 8)}`;
  }

  /**
   * Begins a session of 12 hours. Returns the cookie's value.
   *
   * @param stamp the account's: a session ends when it changes
   */
  async begin(name: string, stamp: string): Promise<string> {
    const id = randomBytes(12).toString("base64url");
    const expiresAt = this.#clock.now() + SESSION_MS;
    await this.#store.keep({ user: name, id: stored(id), expiresAt, ttlMs: SESSION_MS });
    const text = [id, expiresAt, encodeURIComponent(name)].join("~");
    return `${text}~${await this.#sign("session", `${text}~${stamp}`)}`;
  }

  /**
   * Returns the session in a cookie; undefined if it is invalid, expired or was ended.
   *
   * @param stampOf returns the stamp of an account
   */
  async read(cookie: string, stampOf: (name: string) => string): Promise<Session | undefined> {
    const end = cookie.lastIndexOf("~");
    const text = cookie.slice(0, Math.max(0, end));
    const [id = "", until, encoded = ""] = text.split("~");
    const name = decoded(encoded);
    if (!equal(await this.#sign("session", `${text}~${stampOf(name)}`), cookie.slice(end + 1))) return undefined;
    const session = { id, name, expiresAt: Number(until) };
    return await this.#isLive(session) ? session : undefined;
  }

  /** Ends a session before it expires. */
  async end({ name, id }: Session): Promise<void> {
    await this.#store.keep({ user: name, id: stored(id), expiresAt: 0, ttlMs: 0 });
    this.#watch.end(id);
  }

  /**
   * Calls `end` at once when a session is ended here, and soon after it has expired or was ended by another process. The returned function
   * stops that.
   */
  follow(session: Session, end: () => void): () => void {
    return this.#watch.follow(session, end);
  }

  /** Returns the token for the forms of a session, or of a user without one. */
  formToken(owner: string): Promise<string> {
    return this.#sign("form", owner);
  }

  async #isLive({ id, name, expiresAt }: Session): Promise<boolean> {
    return this.#clock.now() <= expiresAt && await this.#store.isLive(name, stored(id));
  }

  async #sign(purpose: string, text: string): Promise<string> {
    return createHmac("sha256", await this.#currentKey()).update(`${purpose}:${text}`).digest("base64url");
  }

  async #currentKey(): Promise<string> {
    const now = this.#clock.monotonic();
    if (this.#key !== undefined && now < this.#key.until) return this.#key.value;
    try {
      this.#key = { value: await this.#store.key(), until: now + KEY_TTL_MS };
    } catch (error) {
      // Without the store, the known key continues to hold.
      if (this.#key === undefined) throw error;
    }
    return this.#key.value;
  }
}

/** Returns what the store keeps of a session's ID: who can read the store doesn't have the cookie. */
function stored(id: string): string {
  return createHash("sha256").update(id).digest("base64url");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
