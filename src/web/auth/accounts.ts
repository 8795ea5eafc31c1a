/**
 * The accounts of the setting `web.users`, one text each: `NAME:ROLE:SECRET`.
 *
 *  1. ROLE is `reader`, `operator`, `push`, `signal` or `work`. All but the first may be limited ({@linkcode SCOPES}):
 *     `operator(queue=mail|low,delete=no)`, `push(class=Mail|Report,queue=low)`, `signal(key=order:*)`,
 *     `work(class=Report)`.
 *     The name `*` stands for all users that a trusted proxy names.
 *  2. SECRET is `scrypt$…` (a password) or `sha256$…` (a token). Without a secret, the user can log in only through a proxy.
 *  3. An unknown name takes as long to check as a wrong password, and the time of a comparison depends on neither text.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import type { Scope } from "../../operator/actions/scope.ts";

/**
 * Permissions: a reader views, an operator also acts, `push` can only push jobs, `signal` only send signals, and `work`
 * performs jobs as a worker, and pushes jobs. */
export type Role = "reader" | "operator" | "push" | "signal" | "work";

/** Returns whether a scope includes the jobs of a class in a queue. No scope includes all. */
export function inScope(
  scope: Scope | undefined,
  job: { readonly class: string; readonly queue: string },
): boolean {
  return (scope?.classes?.includes(job.class) ?? true) && (scope?.queues?.includes(job.queue) ?? true);
}

export interface User {
  readonly name: string;
  readonly role: Role;
  /** Absent: no bounds but those of the role. */
  readonly scope?: Scope;
}

interface Account extends User {
  readonly secret: string;
}

const EXPECTED =
  "NAME:ROLE:SECRET with the role reader, operator, push, signal or work, as printed by jobs web --new-user NAME";
const ACCOUNT =
  /^(?<name>[^:,\s]{1,64}):(?<role>reader|operator|push|signal|work)(?:\((?<scope>[^)\s]{1,1000})\))?(?::(?<secret>scrypt\$\d{2}(?:p[1-9])?\$[\w-]{22}\$[\w-]{43}|sha256\$[\w-]{43})?)?$/;

/**
 * N = 2^15, r = 8, p = 3: of the costs that OWASP recommends as equal, the one with 32 MiB, which a small container has; about 300 ms
 * for each guess, outside of the event loop. The line of an account names its cost: `15`, with p = 1, in lines of earlier versions.
 */
const COST = "15p3";
/** Bounds the time of Unicode normalization, which takes 100 ms for 16,000 characters. */
const MAX_PASSWORD_CHARS = 1_024;
/** Passwords being checked or waiting for it. Further logins are refused. */
const MAX_CHECKS = 8;

export class Accounts {
  readonly #accounts: readonly Account[];
  readonly #salt = randomBytes(16).toString("base64url");
  #checking: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** @throws {RangeError} if a line is invalid, or two lines have the same name */
  constructor(lines: readonly string[]) {
    this.#accounts = lines.map(parseAccount);
    const names = this.#accounts.map(({ name }) => name);
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined) throw new RangeError(`Duplicate user "${twice}": expected one line for each name`);
  }

  /** The users that have a token. */
  get withTokens(): readonly User[] {
    return this.#accounts.filter(({ secret }) => secret.startsWith("sha256$")).map(userOf);
  }

  /** Whether no account exists. */
  get empty(): boolean {
    return this.#accounts.length === 0;
  }

  /** Whether any account has a password or a token. */
  get canLogIn(): boolean {
    return this.#accounts.some(({ secret }) => secret !== "");
  }

  named(name: string): User | undefined {
    const found = this.#accounts.find((one) => one.name === name);
    return found && userOf(found);
  }

  /** Returns a digest of an account's secret; that of an empty text for an unknown name. */
  stampOf(name: string): string {
    return digest(this.#accounts.find((one) => one.name === name)?.secret ?? "");
  }

  /** Returns the user with this token. Compares all accounts, so that the time reveals nothing. */
  withToken(token: string): User | undefined {
    const given = digest(token);
    let found: User | undefined;
    for (const account of this.#accounts) {
      const { secret } = account;
      if (secret.startsWith("sha256$") && equal(`sha256$${given}`, secret)) found = userOf(account);
    }
    return found;
  }

  /**
   * Returns the user with this name and password. Checks one password at a time: guessing must not occupy the machine.
   *
   * @throws {RangeError} if too many passwords wait to be checked
   */
  async withPassword(name: string, password: string): Promise<User | undefined> {
    if (password.length > MAX_PASSWORD_CHARS) return undefined;
    if (this.#waiting >= MAX_CHECKS) throw new RangeError("Too many logins at once");
    this.#waiting++;
    const account = this.#accounts.find((one) => one.name === name && one.secret.startsWith("scrypt$"));
    const check = this.#checking.then(() => isPassword(password, account?.secret ?? this.#secretOfNobody(name)));
    this.#checking = check.catch(() => {});
    try {
      return await check && account ? userOf(account) : undefined;
    } finally {
      this.#waiting--;
    }
  }

  /** Returns a secret to compare with if a name is unknown. Its cost is that of some account, always the same for the name. */
  #secretOfNobody(name: string): string {
    const costs = this.#accounts.flatMap(({ secret }) => /^scrypt\$(\w+)/.exec(secret)?.[1] ?? []);
    const pick = Buffer.from(digest(this.#salt + name), "base64url").readUInt32BE();
    return `scrypt$${costs[pick % costs.length] ?? COST}$${"A".repeat(22)}$${"A".repeat(43)}`;
  }
}

/**
 * Returns the secret of an account with this password.
 *
 * @throws {RangeError} if the password is longer than 1,024 characters
 */
export async function passwordSecret(password: string): Promise<string> {
  if (password.length > MAX_PASSWORD_CHARS) {
    const found = `Password of ${password.length} characters`;
    throw new RangeError(`${found}; expected at most ${MAX_PASSWORD_CHARS}`);
  }
  const salt = randomBytes(16);
  return `scrypt$${COST}$${salt.toString("base64url")}$${await derive(password, salt, COST)}`;
}

/** Creates a token, and the secret for its account. */
export function newToken(): { readonly token: string; readonly secret: string } {
  const token = `jobs_${randomBytes(24).toString("base64url")}`;
  return { token, secret: `sha256$${digest(token)}` };
}

/** Compares two texts in a time that depends on neither. */
export function equal(a: string, b: string): boolean {
  return timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest());
}

function parseAccount(line: string): Account {
  const { name, role, scope, secret = "" } = ACCOUNT.exec(line)?.groups ?? {};
  // A secret must not end up in a log, not even a hashed one.
  if (name === undefined) throw new RangeError(`Invalid user "${line.split(":")[0]}": expected ${EXPECTED}`);
  return {
    name,
    role: role as Role,
    secret,
    ...(scope !== undefined && { scope: parseScope(name, role as Role, scope) }),
  };
}

/** Returns an identity: everything of the account but its secret. */
function userOf({ secret: _, ...user }: Account): User {
  return user;
}

/** The scope of each role: the field of each kind, and an example. */
const SCOPES: Readonly<Record<Role, { readonly kinds: readonly string[]; readonly example?: string }>> = {
  reader: { kinds: [] },
  operator: { kinds: ["queue", "key", "delete"], example: "queue=mail|low,key=order:*,delete=no" },
  push: { kinds: ["class", "queue"], example: "class=Mail|Report,queue=low" },
  signal: { kinds: ["key"], example: "key=order:*|refund:*" },
  work: { kinds: ["class", "queue", "key"], example: "class=Report|Mail,queue=reports,key=order:*" },
};
const LISTS: Readonly<Record<string, "classes" | "queues" | "keys">> = {
  class: "classes",
  queue: "queues",
  key: "keys",
};

/** Reads `class=Mail|Report,queue=low`. */
function parseScope(name: string, role: Role, text: string): Scope {
  const { kinds, example } = SCOPES[role];
  if (example === undefined) {
    throw new RangeError(`User "${name}" has the role ${role}(${text}); expected ${role}, which has no scope`);
  }
  const invalid = () => new RangeError(`User "${name}" has the scope "${text}"; expected ${example}`);
  const scope: { classes?: string[]; queues?: string[]; keys?: string[]; deletes?: false } = {};
  for (const part of text.split(",")) {
    const at = part.indexOf("=");
    const [kind, value] = [part.slice(0, Math.max(0, at)), part.slice(at + 1)];
    const names = value.split("|").filter(Boolean);
    if (!kinds.includes(kind) || names.length === 0 || (kind === "delete" && value !== "no")) throw invalid();
    const field = kind === "delete" ? "deletes" : LISTS[kind]!;
    // A kind that is named twice would replace the first.
    if (scope[field] !== undefined) throw invalid();
    if (field === "deletes") scope.deletes = false;
    else scope[field] = names;
  }
  return scope;
}

async function isPassword(password: string, secret: string): Promise<boolean> {
  const [, cost, salt, hash] = secret.split("$") as [string, string, string, string];
  return equal(await derive(password, Buffer.from(salt, "base64url"), cost), hash);
}

function derive(password: string, salt: Uint8Array, cost: string): Promise<string> {
  const [rounds = 0, p = 1] = cost.split("p").map(Number);
  return new Promise((resolve, reject) =>
    scrypt(
      password.normalize("NFC"),
      salt,
      32,
      { N: 2 ** rounds, r: 8, p, maxmem: 2 ** (rounds + 11) },
      (error, key) => error ? reject(error) : resolve(key.toString("base64url")),
    )
  );
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
