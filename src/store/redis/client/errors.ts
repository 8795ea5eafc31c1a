/**
 * What goes wrong between us and Redis → {@linkcode StoreError} with one clear line: what is wrong, where, what to do.
 *
 * @module
 */
import { StoreError, type StoreErrorCode } from "../../port/errors.ts";

/** The server answered with an error. */
export class RedisError extends Error {
  override readonly name = "Refusal";
  /** The answer's first word: `WRONGTYPE`, `OOM`, `ERR`, … */
  readonly word: string;

  constructor(message: string) {
    super(message);
    this.word = /^[A-Z]+\b/.exec(message)?.[0] ?? "ERR";
  }
}

/** The connection broke, or never came about. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
  /** Whether what was asked may have happened all the same: it was on its way. */
  readonly underWay: boolean;

  constructor(message: string, options?: ErrorOptions & { readonly underWay?: boolean }) {
    super(message, options);
    this.underWay = options?.underWay ?? false;
  }
}

/** A command that cannot be sent, now or later. Nothing of it was sent. */
export class Unsendable extends Error {
  override readonly name = "Unsendable";
  /** Whether it is too large. */
  readonly isTooLarge: boolean;

  constructor(message: string, options?: ErrorOptions & { readonly isTooLarge?: boolean }) {
    super(message, options);
    this.isTooLarge = options?.isTooLarge ?? false;
  }
}

/** Refusals that pass by themselves. None of them did anything. */
const PASSING: Readonly<Record<string, string>> = {
  LOADING: "is still loading its data",
  BUSY: "is busy with another client's script",
  READONLY: "is a replica now",
  MASTERDOWN: "is a replica and its master is down",
  NOREPLICAS: "has fewer replicas than it is told to have before it takes writes",
  TRYAGAIN: "is moving its data",
};

const CLUSTER =
  "runs in cluster mode, where one step cannot span queues: use a server without it (for more than one server, Sentinel)";

const LASTING: Readonly<Record<string, readonly [StoreErrorCode, string]>> = {
  OOM: ["full", "has no memory left: free some, or raise its maxmemory"],
  MISCONF: ["full", "cannot write to its disk and takes no writes: see its log, and make room"],
  NOAUTH: [
    "denied",
    "wants a password: put it into the address, as redis://USER:PASSWORD@HOST or redis://:PASSWORD@HOST",
  ],
  WRONGPASS: ["denied", "refuses this user or password: correct it in the address"],
  NOPERM: [
    "denied",
    "does not let this user do that: give it all commands, and the keys and channels it needs (~* &jobs:*)",
  ],
  WRONGTYPE: [
    "wrong",
    "has a key of ours with a value of another type: some other program uses this database, take another number",
  ],
  MOVED: ["wrong", CLUSTER],
  CROSSSLOT: ["wrong", CLUSTER],
  CLUSTERDOWN: ["wrong", CLUSTER],
};

/** Whether the same may well succeed a moment later. */
export function isPassing(error: unknown): boolean {
  return error instanceof RedisError && Object.hasOwn(PASSING, error.word);
}

/** Whether trying the same connection again cannot help until someone does something. */
export function isLasting(error: unknown): boolean {
  return error instanceof RedisError && !isPassing(error) && !/max number of clients/.test(error.message);
}

/** Whether it is unknown if the verb that failed so did what it should: its answer was lost. */
export function isUnknown(error: unknown): boolean {
  return error instanceof StoreError && error.cause instanceof ConnectionLost && error.cause.underWay;
}

/** An error of the connection → the one to throw. `shown` is the address without its password. */
export function toStoreError(error: unknown, shown: string): StoreError {
  if (error instanceof StoreError) return error;
  const cause = { cause: error };
  if (error instanceof Unsendable) {
    const code = error.isTooLarge ? "large" : "wrong";
    return new StoreError(code, `Command not sent to Redis at "${shown}": ${error.message}`, cause);
  }
  if (!(error instanceof RedisError)) {
    return new StoreError("unavailable", `Redis at "${shown}" cannot be reached: ${reason(error)}`, cause);
  }
  const passing = PASSING[error.word];
  if (passing) return new StoreError("unavailable", `Redis at "${shown}" ${passing}: try again later`, cause);
  if (error.word === "ERR") return fromPlainError(error, shown);
  const [code, text] = LASTING[error.word] ?? ["wrong", "refused"];
  return new StoreError(code, `Redis at "${shown}" ${text} (it says "${error.message}")`, cause);
}

/** In one line, why a connection broke. */
export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof RedisError && isPassing(error)) return `it ${PASSING[error.word]}`;
  // A failed attempt at several addresses of one name carries its reasons inside.
  const first = error instanceof AggregateError ? error.errors[0] : undefined;
  const text = first instanceof Error ? first.message : error.message;
  return text.split("\n", 1)[0] || (error as { code?: string }).code || error.name;
}

function fromPlainError(error: RedisError, shown: string): StoreError {
  const { message } = error;
  const [code, text]: [StoreErrorCode, string] = /max number of clients/.test(message)
    ? ["unavailable", "takes no more connections: raise its maxclients"]
    : /DB index is out of range/.test(message)
    ? ["wrong", "has no database of this number: take a lower one, or raise its setting databases"]
    : /unknown command.*HELLO/i.test(message)
    ? ["wrong", "is too old: 7.0 or later is wanted"]
    : /AUTH.*without any password configured/.test(message)
    ? ["denied", "has no password, and the address has one: take it out, or set requirepass"]
    : ["wrong", "refused"];
  return new StoreError(code, `Redis at "${shown}" ${text} (it says "${message}")`, { cause: error });
}
