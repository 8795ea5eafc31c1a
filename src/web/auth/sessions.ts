/**
 * Sessions of users who logged in with a password or a token, each in a signed cookie; and the token that every form
 * carries. The key is created at the start: a restart logs all users out.
 *
 * @module
 */
import { createHmac, randomBytes } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { equal } from "./accounts.ts";

/** A session. */
export interface Session {
  /** The account. */
  readonly name: string;
  /** Identifies this session. */
  readonly id: string;
}

const SESSION_MS = 12 * 3_600_000;
const MAX_ENDED = 10_000;

/** Creates and reads sessions. */
export class Sessions {
  readonly #clock: Clock;
  readonly #key = randomBytes(32);
  readonly #ended = new Set<string>();

  /** @param clock by which sessions expire */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a session of 12 hours. Returns the cookie's value. */
  begin(name: string): string {
    const id = randomBytes(12).toString("base64url");
    const text = [id, this.#clock.now() + SESSION_MS, encodeURIComponent(name)].join("~");
    return `${text}~${this.#sign("session", text)}`;
  }

  /** Returns the session in a cookie; undefined if it is invalid, expired or was ended. */
  read(cookie: string): Session | undefined {
    const end = cookie.lastIndexOf("~");
    const text = cookie.slice(0, Math.max(0, end));
    if (!equal(this.#sign("session", text), cookie.slice(end + 1))) return undefined;
    const [id, until, name] = text.split("~") as [string, string, string];
    if (this.#clock.now() > Number(until) || this.#ended.has(id)) return undefined;
    return { id, name: decodeURIComponent(name) };
  }

  /** Ends a session before it expires. */
  end(id: string): void {
    this.#ended.add(id);
    if (this.#ended.size > MAX_ENDED) this.#ended.delete(this.#ended.values().next().value!);
  }

  /** Returns the token for the forms of a session, or of a user without one. */
  formToken(owner: string): string {
    return this.#sign("form", owner);
  }

  /** Returns a key for a secret that must not be kept in memory: the same text has the same key until a restart. */
  fingerprint(text: string): string {
    return this.#sign("fingerprint", text);
  }

  #sign(purpose: string, text: string): string {
    return createHmac("sha256", this.#key).update(`${purpose}:${text}`).digest("base64url");
  }
}
