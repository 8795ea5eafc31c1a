/**
 * The gate: who is asking.
 *
 *  1. Without accounts and without a proxy there is no login: then `serve.ts` listens on the loopback only.
 *  2. Else by a proxy's header (only from the addresses of the proxies), a token, a password, or a session's cookie.
 *  3. Failures are counted, and whoever fails often has to wait.
 *
 * @module
 */
import { getCookie } from "hono/cookie";
import type { Context } from "hono";
import type { Clock } from "../../clock.ts";
import { Accounts, type Role, type User } from "./accounts.ts";
import { Attempts } from "./attempts.ts";
import { Sessions } from "./sessions.ts";

/** How people are told apart. */
export interface GateOptions {
  /** Accounts, `NAME:ROLE:SECRET` each. */
  readonly users: readonly string[];
  /** The header in which a proxy names the user. */
  readonly proxyHeader?: string | undefined;
  /** Addresses of proxies: only from these, that header and `X-Forwarded-For` count. */
  readonly proxies: readonly string[];
  /** Called once, when `X-Forwarded-For` comes from any other address: maybe a proxy that was not named. */
  readonly onUnknownProxy?: (peer: string) => void;
  /** Nobody may act. */
  readonly readOnly: boolean;
  readonly clock: Clock;
}

/** Somebody who was let in. */
export interface Visitor extends User {
  /** The address it comes from. */
  readonly address: string;
  /** How it was recognised. A browser sends `cookie`, `password` and `open` by itself, so that other sites can use them. */
  readonly by: "open" | "proxy" | "token" | "password" | "cookie";
  /** What its forms carry. */
  readonly formToken: string;
  /** By cookie: the session. */
  readonly session?: string;
}

/** Who is asking: somebody, nobody, or somebody who has to wait. */
export type Admission = Visitor | { readonly refused: "unknown" } | {
  readonly refused: "wait";
  readonly waitMs: number;
};

/** The cookie of sessions. */
export const SESSION_COOKIE = "jobs_session";

/** A password that was right is believed so long, without computing its hash again. */
const BELIEVED_MS = 5 * 60_000;
const MAX_BELIEVED = 1_000;

/** Lets people in. */
export class Gate {
  readonly sessions: Sessions;
  readonly #options: GateOptions;
  readonly #accounts: Accounts;
  readonly #attempts: Attempts;
  #hasReported = false;
  readonly #believed = new Map<string, { readonly user: User; readonly until: number }>();

  /** @throws {RangeError} when an account is not as it should be, or a proxy's header is trusted, but no proxy */
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
    this.sessions = new Sessions(options.clock);
  }

  /** Whether anybody is let in. */
  get open(): boolean {
    return this.#accounts.empty && this.#options.proxyHeader === undefined;
  }

  /** The users that have a token. */
  get tokenUsers(): readonly User[] {
    return this.#accounts.withTokens;
  }

  /** Whether there is anything to log in with. */
  get canLogIn(): boolean {
    return this.#accounts.canLogIn;
  }

  /** Who is asking; `peer` is the address at the other end of the connection. */
  async admit(c: Context, peer: string): Promise<Admission> {
    const address = this.addressOf(c, peer);
    const visitor = (user: User, by: Visitor["by"], session?: string): Visitor => ({
      name: user.name,
      role: this.#options.readOnly ? "reader" : user.role,
      ...(user.scope !== undefined && { scope: user.scope }),
      address,
      by,
      formToken: this.sessions.formToken(session ?? `${by}:${user.name}`),
      ...(session === undefined ? {} : { session }),
    });
    if (this.open) return visitor({ name: "local", role: "operator" }, "open");
    const named = this.#namedByProxy(c, peer);
    if (named) return visitor(named, "proxy");
    const [scheme, credentials] = splitOnce(c.req.header("authorization") ?? "", " ");
    if (scheme.toLowerCase() === "bearer" || scheme.toLowerCase() === "basic") {
      const user = await this.#withCredentials(scheme.toLowerCase(), credentials, address);
      return "role" in user ? visitor(user, scheme.toLowerCase() === "bearer" ? "token" : "password") : user;
    }
    const session = this.sessions.read(getCookie(c, SESSION_COOKIE) ?? "");
    const user = session && this.#accounts.named(session.name);
    return user ? visitor(user, "cookie", session.id) : { refused: "unknown" };
  }

  /** Logs in with a name and a password, or with a token and no name. */
  async logIn(c: Context, peer: string, name: string, password: string): Promise<User | Exclude<Admission, Visitor>> {
    return await this.#attempt(name, password, this.addressOf(c, peer));
  }

  /** Returns how long an address must wait before its next attempt to log in, in milliseconds; 0 when it may try. */
  waitMs(address: string): number {
    return this.#attempts.waitMs({ address });
  }

  /** The visitor's own address: where a proxy stands between, what the proxy says. */
  addressOf(c: Context, peer: string): string {
    const forwarded = c.req.header("x-forwarded-for");
    if (forwarded === undefined) return peer;
    if (this.#options.proxies.includes(peer)) return forwarded.split(",").at(-1)!.trim().slice(0, 64) || peer;
    if (!this.#hasReported) this.#options.onUnknownProxy?.(peer);
    this.#hasReported = true;
    return peer;
  }

  async #withCredentials(scheme: string, credentials: string, address: string) {
    if (scheme === "bearer") return await this.#attempt("", credentials, address);
    const key = this.sessions.fingerprint(credentials);
    const believed = this.#believed.get(key);
    if (believed && believed.until > this.#options.clock.monotonic()) return believed.user;
    const [name, password] = splitOnce(decodeBase64(credentials), ":");
    const user = await this.#attempt(name, password, address);
    if ("role" in user) this.#believe(key, user);
    return user;
  }

  async #attempt(name: string, secret: string, address: string): Promise<User | Exclude<Admission, Visitor>> {
    const guesser = { address, name };
    // Nobody guesses a token: one that is right counts whatever others at its address have tried, and forgives nothing.
    const bearer = name === "" ? this.#accounts.withToken(secret) : undefined;
    if (bearer) return bearer;
    const waitMs = this.#attempts.waitMs(guesser);
    if (waitMs > 0) return { refused: "wait", waitMs };
    let user: User | undefined;
    try {
      user = name === "" ? undefined : await this.#accounts.withPassword(name, secret);
    } catch {
      return { refused: "wait", waitMs: 1_000 };
    }
    if (user === undefined) this.#attempts.failed(guesser);
    else this.#attempts.succeeded(guesser);
    return user ?? { refused: "unknown" };
  }

  #believe(key: string, user: User): void {
    this.#believed.delete(key);
    this.#believed.set(key, { user, until: this.#options.clock.monotonic() + BELIEVED_MS });
    if (this.#believed.size > MAX_BELIEVED) this.#believed.delete(this.#believed.keys().next().value!);
  }

  #namedByProxy(c: Context, peer: string): User | undefined {
    const { proxyHeader, proxies } = this.#options;
    if (proxyHeader === undefined || !proxies.includes(peer)) return undefined;
    const name = c.req.header(proxyHeader)?.trim();
    if (!name) return undefined;
    const role: Role = (this.#accounts.named(name) ?? this.#accounts.named("*"))?.role ?? "reader";
    return { name: name.slice(0, 64), role };
  }
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
