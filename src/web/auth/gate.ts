/**
 * Authenticates the sender of each request.
 *
 *  1. Without accounts and without a proxy's header, no login is required. Then `serve.ts` listens on the loopback only.
 *  2. Otherwise a user is recognized by a proxy's header (only from the addresses of the proxies), a token, a password, or
 *     a session's cookie.
 *  3. Failed logins are counted, and delay further ones (`attempts.ts`).
 *
 * @module
 */
import { allows } from "./access.ts";
import { createHmac, randomBytes } from "node:crypto";
import { getCookie } from "hono/cookie";
import type { Context } from "hono";
import type { Clock } from "../../clock.ts";
import type { SessionStore } from "../../store/admin/sessions.ts";
import { Accounts, type User } from "./accounts.ts";
import { Attempts } from "./attempts.ts";
import { type Session, Sessions } from "./sessions.ts";

export interface GateOptions {
  /** Accounts, `NAME:ROLE:SECRET` each. */
  readonly users: readonly string[];
  /** The header in which a proxy names the user. */
  readonly proxyHeader?: string | undefined;
  /** Addresses of proxies. That header and `X-Forwarded-For` are ignored from other addresses. */
  readonly proxies: readonly string[];
  /** Called once, when `X-Forwarded-For` comes from another address: perhaps a proxy that is missing in `proxies`. */
  readonly onUnknownProxy?: (peer: string) => void;
  /** Called for each login that is refused, however it is sent. */
  readonly onRefused?: (login: RefusedLogin) => void;
  /** Refuses all actions: operators become readers, and push tokens only wait for results. */
  readonly readOnly: boolean;
  readonly clock: Clock;
  /** Keeps the sessions. */
  readonly store: SessionStore;
  /** Precedes the paths of the dashboard. */
  readonly prefix: string;
}

export interface RefusedLogin {
  /** The account; empty if there is none of the given name, or no name. */
  readonly name: string;
  readonly address: string;
  /** Present if the address or the name has to wait, after too many failures. */
  readonly waitMs?: number;
}

/** The authenticated sender of a request. */
export interface Visitor extends User {
  /** The address of the browser or program. */
  readonly address: string;
  /** How the user was recognized. Browsers send `cookie`, `password` and `open` by themselves, also for other sites. */
  readonly by: "open" | "proxy" | "token" | "password" | "cookie";
  /** The token that the visitor's forms carry. */
  readonly formToken: string;
  /** The session; only with `by: "cookie"`. */
  readonly session?: Session;
}

/** A visitor; or the refusal of a request without valid credentials, or after too many failures. */
export type Admission = Visitor | { readonly refused: "unknown" } | {
  readonly refused: "wait";
  readonly waitMs: number;
};

/** How long a verified password is accepted without computing its hash again. */
const VERIFIED_FOR_MS = 5 * 60_000;
const MAX_VERIFIED = 1_000;

export class Gate {
  readonly sessions: Sessions;
  readonly #options: GateOptions;
  readonly #accounts: Accounts;
  readonly #attempts: Attempts;
  readonly #key = randomBytes(32);
  #hasReported = false;
  /** Users by fingerprint of verified credentials. */
  readonly #verified = new Map<string, { readonly user: User; readonly until: number }>();

  /** @throws {RangeError} if an account is invalid, or `proxyHeader` is set without `proxies` */
  constructor(options: GateOptions) {
    if (options.proxyHeader !== undefined && options.proxies.length === 0) {
      throw new RangeError(
        `web.proxyHeader is "${options.proxyHeader}", but web.proxies is empty; expected the addresses of the proxies ` +
          'that set it, such as ["127.0.0.1", "::1"]',
      );
    }
    this.#options = options;
    this.#accounts = new Accounts(options.users);
    this.#attempts = new Attempts(options.clock);
    this.sessions = new Sessions(options.clock, options.store, options.prefix);
  }

  /** Whether no login is required. */
  get open(): boolean {
    return this.#accounts.empty && this.#options.proxyHeader === undefined;
  }

  /** Whether all actions are refused. */
  get readOnly(): boolean {
    return this.#options.readOnly;
  }

  /** The users that have a token. */
  get tokenUsers(): readonly User[] {
    return this.#accounts.withTokens;
  }

  /** Whether any account has a password or a token. */
  get canLogIn(): boolean {
    return this.#accounts.canLogIn;
  }

  /** Returns a text that changes when the secret of an account does: its sessions end then. */
  stampOf(name: string): string {
    return this.#accounts.stampOf(name);
  }

  /** Authenticates a request; `peer` is the address at the other end of the connection. */
  async admit(c: Context, peer: string): Promise<Admission> {
    const address = this.addressOf(c, peer);
    const visitor = async (user: User, by: Visitor["by"], session?: Session): Promise<Visitor> => ({
      ...user,
      role: this.#options.readOnly && user.role === "operator" ? "reader" : user.role,
      address,
      by,
      formToken: await this.sessions.formToken(session?.id ?? `${by}:${user.name}`),
      ...(session === undefined ? {} : { session }),
    });
    if (this.open) return await visitor({ name: "local", role: "operator" }, "open");
    const named = this.#namedByProxy(c, peer);
    if (named) return await visitor(named, "proxy");
    const [scheme, credentials] = splitOnce(c.req.header("authorization") ?? "", " ");
    if (scheme.toLowerCase() === "bearer" || scheme.toLowerCase() === "basic") {
      const user = await this.#withCredentials(scheme.toLowerCase(), credentials, address);
      if (!("role" in user)) return user;
      return await visitor(user, scheme.toLowerCase() === "bearer" ? "token" : "password");
    }
    const cookie = this.canLogIn ? getCookie(c, await this.sessions.cookieName()) : undefined;
    const session = cookie === undefined ? undefined : await this.sessions.read(cookie, (name) => this.stampOf(name));
    const user = session && this.#accounts.named(session.name);
    // A program has no session: it would evade the bounds of its role.
    return user && allows("visit", user.role) ? await visitor(user, "cookie", session) : { refused: "unknown" };
  }

  /** Logs in with a name and a password, or with a token and no name. */
  async logIn(c: Context, peer: string, name: string, password: string): Promise<User | Exclude<Admission, Visitor>> {
    return await this.#attempt(name, password, this.addressOf(c, peer));
  }

  /** Returns how long an address must wait before its next attempt to log in, in milliseconds; 0 when it may try. */
  waitMs(address: string): number {
    return this.#attempts.waitMs({ address });
  }

  /** Returns the visitor's address: the peer, or the last address in `X-Forwarded-For` if the peer is a proxy. */
  addressOf(c: Context, peer: string): string {
    const forwarded = c.req.header("x-forwarded-for");
    if (forwarded === undefined) return peer;
    if (this.#options.proxies.includes(peer)) {
      return withoutPort(forwarded.split(",").at(-1)!.trim().slice(0, 64)) || peer;
    }
    if (!this.#hasReported) this.#options.onUnknownProxy?.(peer);
    this.#hasReported = true;
    return peer;
  }

  async #withCredentials(scheme: string, credentials: string, address: string) {
    if (scheme === "bearer") return await this.#attempt("", credentials, address);
    // The credentials themselves must not be kept in memory.
    const key = createHmac("sha256", this.#key).update(credentials).digest("base64url");
    const verified = this.#verified.get(key);
    if (verified && verified.until > this.#options.clock.monotonic()) return verified.user;
    const [name, password] = splitOnce(decodeBase64(credentials), ":");
    const user = await this.#attempt(name, password, address);
    if ("role" in user) this.#keepVerified(key, user);
    return user;
  }

  async #attempt(name: string, secret: string, address: string): Promise<User | Exclude<Admission, Visitor>> {
    const result = await this.#check(name, secret, address);
    if ("refused" in result) {
      // A name that isn't an account's may be a password in the wrong field.
      const known = this.#accounts.named(name) === undefined ? "" : name;
      this.#options.onRefused?.({ name: known, address, ...("waitMs" in result && { waitMs: result.waitMs }) });
    }
    return result;
  }

  async #check(name: string, secret: string, address: string): Promise<User | Exclude<Admission, Visitor>> {
    const source = { address, name };
    // A token cannot be guessed. So a valid one is accepted whatever others at its address have tried, and it doesn't reset
    // their failures.
    const bearer = name === "" ? this.#accounts.withToken(secret) : undefined;
    if (bearer) return bearer;
    const waitMs = this.#attempts.waitMs(source);
    if (waitMs > 0) return { refused: "wait", waitMs };
    let user: User | undefined;
    try {
      user = name === "" ? undefined : await this.#accounts.withPassword(name, secret);
    } catch {
      return { refused: "wait", waitMs: 1_000 };
    }
    if (user === undefined) this.#attempts.failed(source);
    else this.#attempts.succeeded(source);
    return user ?? { refused: "unknown" };
  }

  #keepVerified(key: string, user: User): void {
    this.#verified.delete(key);
    this.#verified.set(key, { user, until: this.#options.clock.monotonic() + VERIFIED_FOR_MS });
    if (this.#verified.size > MAX_VERIFIED) this.#verified.delete(this.#verified.keys().next().value!);
  }

  #namedByProxy(c: Context, peer: string): User | undefined {
    const { proxyHeader, proxies } = this.#options;
    if (proxyHeader === undefined || !proxies.includes(peer)) return undefined;
    const name = c.req.header(proxyHeader)?.trim();
    if (!name) return undefined;
    const account = this.#accounts.named(name) ?? this.#accounts.named("*") ?? { role: "reader" };
    return { ...account, name: name.slice(0, 64) };
  }
}

/** Returns an address as some proxies forward it, without its port: each connection has another one. */
function withoutPort(address: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address;
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decodeBase64(text: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text), (char) => char.charCodeAt(0)));
  } catch {
    return "";
  }
}
