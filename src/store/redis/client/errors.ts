/**
 * Errors of the connection to Redis, and their conversion to {@linkcode StoreError} with a line for the user: the problem,
 * the address, the remedy.
 *
 * @module
 */
import { StoreError, type StoreErrorCode } from "../../port/errors.ts";

/** The server replied with an error. */
export class RedisError extends Error {
  override readonly name = "RedisError";
  /** The first word of the reply: `WRONGTYPE`, `OOM`, `ERR`, … */
  readonly word: string;

  constructor(message: string) {
    super(message);
    this.word = /^[A-Z]+\b/.exec(message)?.[0] ?? "ERR";
  }
}

/** The connection broke, or couldn't be established. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
  /** Whether the command was sent: the server may have run it. */
  readonly wasSent: boolean;

  constructor(message: string, options?: ErrorOptions & { readonly wasSent?: boolean }) {
    super(message, options);
    this.wasSent = options?.wasSent ?? false;
  }
}

/** A command that can never be sent. Nothing of it was sent. */
export class Unsendable extends Error {
  override readonly name = "Unsendable";
  /** Whether the command is too large. */
  readonly isTooLarge: boolean;

  constructor(message: string, options?: ErrorOptions & { readonly isTooLarge?: boolean }) {
    super(message, options);
    this.isTooLarge = options?.isTooLarge ?? false;
  }
}

/** Errors that end by themselves. The rejected command had no effect. */
const TRANSIENT: Readonly<Record<string, string>> = {
  LOADING: "is still loading its data",
  BUSY: "is busy with another client's script",
  READONLY: "is a replica now",
  MASTERDOWN: "is a replica and its master is down",
  NOREPLICAS: "has fewer replicas than its min-replicas-to-write requires",
  TRYAGAIN: "is moving its data",
};

/** The errors of a server that may no longer be the master: the address may lead to another one by now. */
const NOT_MASTER = ["READONLY", "MASTERDOWN", "NOREPLICAS"];

const CLUSTER =
  "runs in cluster mode, where one step cannot span queues: use a server without it (for more than one server, Sentinel)";

const PERMANENT: Readonly<Record<string, readonly [StoreErrorCode, string]>> = {
  OOM: ["full", "has no memory left: free some, or raise its maxmemory"],
  MISCONF: ["full", "cannot write to its disk and rejects writes: see its log, and free space"],
  NOAUTH: [
    "denied",
    "requires a password: put it into the address, as redis://USER:PASSWORD@HOST or redis://:PASSWORD@HOST",
  ],
  WRONGPASS: ["denied", "rejected this user or password: correct it in the address"],
  NOPERM: [
    "denied",
    "denied the command to this user: grant it ~* &jobs:* +@all -@dangerous -@admin",
  ],
  WRONGTYPE: [
    "wrong",
    "has one of the store's keys with a value of another type: another program uses this database, choose another number",
  ],
  MOVED: ["wrong", CLUSTER],
  CROSSSLOT: ["wrong", CLUSTER],
  CLUSTERDOWN: ["wrong", CLUSTER],
};

/** Returns whether the same command may succeed a moment later. */
export function isTransient(error: unknown): boolean {
  return error instanceof RedisError && Object.hasOwn(TRANSIENT, error.word);
}

/** Returns whether the server may no longer be the master. */
export function isNotMaster(error: unknown): boolean {
  return error instanceof RedisError && NOT_MASTER.includes(error.word);
}

/** Returns whether connecting again can't succeed before an operator changes something. */
export function isPermanent(error: unknown): boolean {
  return error instanceof RedisError && !isTransient(error) && !/max number of clients/.test(error.message);
}

/** Returns whether the failed verb may have taken effect: it was sent, and its reply was lost. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof StoreError && error.cause instanceof ConnectionLost && error.cause.wasSent;
}

/** Converts an error of the connection to a {@linkcode StoreError}. `shown` is the address without its password. */
export function toStoreError(error: unknown, shown: string): StoreError {
  if (error instanceof StoreError) return error;
  const cause = { cause: error };
  if (error instanceof Unsendable) {
    const code = error.isTooLarge ? "large" : "wrong";
    return new StoreError(code, `Command not sent to Redis at "${shown}": ${error.message}`, cause);
  }
  if (!(error instanceof RedisError)) {
    const why = reason(error);
    return new StoreError("unavailable", `Redis at "${shown}" cannot be reached: ${why}${cureOf(why, shown)}`, cause);
  }
  const transient = TRANSIENT[error.word];
  if (transient) return new StoreError("unavailable", `Redis at "${shown}" ${transient}: try again later`, cause);
  if (error.word === "ERR") return fromPlainError(error, shown);
  const [code, text] = PERMANENT[error.word] ?? ["wrong", "rejected the command"];
  return new StoreError(code, `Redis at "${shown}" ${text} (its reply: "${error.message}")`, cause);
}

/** Returns the cure of a mistake in the address, to be added to the reason. */
function cureOf(why: string, shown: string): string {
  if (/unable to verify|self-signed|local issuer|UnknownIssuer/.test(why)) {
    return "; add ?ca=FILE with the certificate of its authority";
  }
  if (/certificate's altnames|not valid for name/.test(why)) return "; use a name that the certificate has";
  return /ECONNRESET/.test(why) && shown.startsWith("redis://") ? "; if the port expects TLS, use rediss://" : "";
}

/** Returns in one line why a connection broke. */
export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof RedisError && isTransient(error)) return `it ${TRANSIENT[error.word]}`;
  // An attempt at several addresses of one name fails with one reason per address.
  const first = error instanceof AggregateError ? error.errors[0] : undefined;
  const text = first instanceof Error ? first.message : error.message;
  return text.split("\n", 1)[0] || (error as { code?: string }).code || error.name;
}

function fromPlainError(error: RedisError, shown: string): StoreError {
  const { message } = error;
  const [code, text]: readonly [StoreErrorCode, string] = /max number of clients/.test(message)
    ? ["unavailable", "accepts no more connections: raise its maxclients"]
    : /DB index is out of range/.test(message)
    ? ["wrong", "has no database of this number: choose a lower one, or raise its setting databases"]
    : /unknown command.*HELLO/i.test(message)
    ? ["wrong", "is too old: expected 7.0 or later"]
    : /AUTH.*without any password configured/.test(message)
    ? ["denied", "has no password, and the address has one: remove it, or set requirepass"]
    : /executing the script can't|ACL failure in script/.test(message)
    ? PERMANENT.NOPERM!
    : /non local key in a cluster|do not hash to the same slot/.test(message)
    ? ["wrong", CLUSTER]
    : ["wrong", "rejected the command"];
  return new StoreError(code, `Redis at "${shown}" ${text} (its reply: "${message}")`, { cause: error });
}
