/**
 * Sessions of those who logged in with a password or a token, in a signed cookie; and the token that every form carries.
 * The key is made at the start: a restart logs everybody out.
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
  /** Names this session. */
  readonly id: string;
}

const LASTS_MS = 12 * 3_600_000;
const MAX_ENDED = 10_000;

/** Makes and reads sessions. */
export class Sessions {
  readonly #clock: Clock;
  readonly #key = randomBytes(32);
  readonly #ended = new Set<string>();

  /** Sessions end by this clock. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a session; returns the cookie's value. */
  begin(name: string): string {
    const id = randomBytes(12).toString("base64url");
    const text = [id, this.#clock.now() + LASTS_MS, encodeURIComponent(name)].join("~");
    return `${text}~${this.#sign("session", text)}`;
  }

  /** The session that a cookie is; undefined when it is none, is over or was ended. */
  read(cookie: string): Session | undefined {
    const end = cookie.lastIndexOf("~");
    const text = cookie.slice(0, Math.max(0, end));
    if (!equal(this.#sign("session", text), cookie.slice(end + 1))) return undefined;
    const [id, until, name] = text.split("~") as [string, string, string];
    if (this.#clock.now() > Number(until) || this.#ended.has(id)) return undefined;
    return { id, name: decodeURIComponent(name) };
  }

  /** Ends a session before its time. */
  end(id: string): void {
    this.#ended.add(id);
    if (this.#ended.size > MAX_ENDED) this.#ended.delete(this.#ended.values().next().value!);
  }

  /** The token for the forms of a session, or of a user who needs none. */
  formToken(owner: string): string {
    return this.#sign("form", owner);
  }

  /** A name for what must not be kept as it is: the same for the same text, as long as this lives. */
  fingerprint(text: string): string {
    return this.#sign("fingerprint", text);
  }

  #sign(purpose: string, text: string): string {
    return createHmac("sha256", this.#key).update(`${purpose}:${text}`).digest("base64url");
  }
}
