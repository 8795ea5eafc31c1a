/**
 * Converts the errors of PostgreSQL and of its driver to {@linkcode StoreError}, with the remedy.
 *
 * @module
 */
import { StoreError } from "../port/errors.ts";
import { CLOSED_AT_ONCE } from "./hosts.ts";
import { certificateCure, isCertificateError, NO_TLS } from "./tls.ts";

/** The connection was lost before a statement was sent. */
const UNSENT = "UNSENT";
/** Errors before a statement was sent. */
const NOT_CONNECTED = new Set([
  ...[
    "ECONNREFUSED",
    "ENOENT",
    "ENOTFOUND",
    "EAI_AGAIN",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ETIMEDOUT",
    "CONNECT_TIMEOUT",
    CLOSED_AT_ONCE,
    UNSENT,
  ],
  // The server starts, stops, or has no free connection.
  ...["57P03", "53300", "08001", "08004"],
]);
/** A statement had no answer. */
export const SILENCE = "TIMEOUT";
/** Errors that end a connection: the statement may have run. */
const CONNECTION_LOST = new Set([
  ...["ECONNRESET", "EPIPE", "CONNECTION_CLOSED", "CONNECTION_DESTROYED", "CONNECTION_ENDED", "ERR_SOCKET_CLOSED"],
  ...["57P01", "57P02", "57P05", "25P03", "25P04", "08000", "08003", "08006", "08007", "08P01", SILENCE],
]);
/** The server doesn't know a prepared statement. */
const UNPREPARED = "26000";
/** A statement has waited for a lock, for as long as its `lock_timeout`. */
const HELD = "55P03";
/** The transaction was rolled back, and may succeed when it is repeated: a deadlock, a conflict, a plan of an older schema. */
const REPEAT = new Set(["40001", "40P01", HELD, "0A000", UNPREPARED]);
/** An administrator cancelled the statement, or it took longer than the server's `statement_timeout`. */
const CANCELLED = "57014";
/** The server is a replica: another one accepts writes, or this one will. */
export const READ_ONLY = "25006";

/** The server, its database or the user has no free connection. */
const TOO_MANY = "53300";

/** How a failed statement is treated. */
export type Failure =
  /** It didn't run: it is sent again. */
  | "again"
  /** It was rolled back: its transaction is repeated. */
  | "repeat"
  /** It may have run. */
  | "unknown"
  /** It failed. */
  | "failed";

/** Returns how an error is treated. */
export function failureOf(error: unknown): Failure {
  const code = codeOf(error);
  if (code === undefined) return "failed";
  if (code === NO_TLS || isCertificateError(code, messageOf(error))) return "failed";
  const call = systemCallOf(error);
  if (NOT_CONNECTED.has(code) || code === READ_ONLY || call === "connect" || call === "getaddrinfo") return "again";
  if (CONNECTION_LOST.has(code) || call !== undefined) return "unknown";
  if (code === "0A000") return isStalePlan(error) ? "repeat" : "failed";
  return REPEAT.has(code) || code === CANCELLED ? "repeat" : "failed";
}

/** Returns whether a statement has waited for a lock of another transaction, until it failed. */
export function hasWaited(error: unknown): boolean {
  return codeOf(error) === HELD;
}

/** Returns whether a plan is of an older schema. The message is in the server's language. */
function isStalePlan(error: unknown): boolean {
  return (error as { readonly routine?: unknown }).routine === "RevalidateCachedQuery";
}

/** Returns whether a statement was cancelled. One that always takes too long would be each time. */
export function isCancelled(error: unknown): boolean {
  return codeOf(error) === CANCELLED;
}

/** Returns whether the server doesn't know a statement that this process has prepared. */
export function isUnprepared(error: unknown): boolean {
  return codeOf(error) === UNPREPARED;
}

/** Returns whether the server accepts no writes: another connection may lead to one that does. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === READ_ONLY;
}

/** Converts an error to a {@linkcode StoreError}. Other errors stay unchanged. */
export function translate(error: unknown, shown: string): unknown {
  if (error instanceof StoreError) return error;
  const code = codeOf(error);
  if (code === undefined) return error;
  const reply = messageOf(error);
  const make = (kind: StoreError["code"], text: string) => new StoreError(kind, text, { cause: error });
  const at = `PostgreSQL at "${shown}"`;
  if (code === NO_TLS) {
    return make("unavailable", `${at} offers no TLS: remove sslmode from the address, or set ssl = on on the server`);
  }
  if (isCertificateError(code, reply)) {
    return make("unavailable", `${at} has a certificate problem (${reply}): ${certificateCure(reply)}`);
  }
  if (code === "28P01" || code === "28000") {
    const cure = /no encryption|SSL off/.test(reply)
      ? 'add "sslmode=require" to the address'
      : /certificate/.test(reply)
      ? "add sslcert=FILE&sslkey=FILE with a certificate for this user to the address"
      : "check user and password";
    return make("denied", `${at} rejected the login (${reply}): ${cure}`);
  }
  if (code === "3D000") return make("missing", `${at} has no such database (${reply}): create it`);
  if (code === "42501") {
    return make(
      "denied",
      `${at} denied this user access (${reply}): grant it a role of the schema, see jobs schema --help`,
    );
  }
  if (code === "42P01" || code === "3F000" || code === "42883") {
    return make("missing", `${at} has no store in this schema (${reply}): let its owner run jobs schema`);
  }
  if (code === "53100") return make("full", `No space for ${at} (${reply}); nothing was stored: free some space`);
  if (code === "53200") {
    return make(
      "full",
      `Too many locks or too little memory at ${at} (${reply}); nothing was stored: push fewer jobs with throttle or debounce in one transaction, or raise max_locks_per_transaction`,
    );
  }
  if (code === HELD) {
    return make(
      "held",
      `Another transaction at ${at} holds what this would change (${reply}); nothing was stored: jobs doctor names the session`,
    );
  }
  if (code === "54000" || code === "22001") return make("large", `Job too large for ${at} (${reply})`);
  if (code === "XX001" || code === "XX002") {
    return make("corrupt", `${at} is damaged (${reply}); restore it from a backup`);
  }
  if (code === TOO_MANY) {
    return make(
      "unavailable",
      `${at} accepts no more connections (${reply}): raise the limit of the user, or max_connections, or give workers fewer with ?connections=N`,
    );
  }
  if (code === READ_ONLY) {
    return make("unavailable", `${at} is a replica: try again later, or use the address of its primary`);
  }
  if (code === CANCELLED) {
    return make(
      "unavailable",
      `${at} cancelled a statement each time (${reply}): raise the statement_timeout of this user, or see who cancels it`,
    );
  }
  if (failureOf(error) !== "failed") return make("unavailable", `${at} is not available: ${reply}`);
  return make("wrong", `${at} rejected a statement (${code}: ${reply})`);
}

/** Converts the error of a server that isn't a replica, and refuses writes. */
export function refusesWrites(error: unknown, shown: string): StoreError {
  return new StoreError(
    "unavailable",
    `PostgreSQL at "${shown}" accepts no writes (${
      messageOf(error)
    }): default_transaction_read_only is on, often because its disk is full`,
    { cause: error },
  );
}

/** Returns the error of a statement that wasn't sent. */
export function unsent(error: unknown): unknown {
  return failureOf(error) === "unknown"
    ? Object.assign(new Error(messageOf(error), { cause: error }), { code: UNSENT })
    : error;
}

/** Errors of statements that may have run. */
const unknown = new WeakSet<object>();

/** Converts an error of a statement that may have run. */
export function unanswered(cause: unknown, shown: string): unknown {
  const error = translate(cause, shown);
  if (typeof error === "object" && error !== null) unknown.add(error);
  return error;
}

/** Returns whether a statement that failed may have run. */
export function isOutcomeUnknown(error: unknown): boolean {
  return typeof error === "object" && error !== null && unknown.has(error);
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

/** Returns the call of the system that failed, such as `connect`: there are no descriptors or no ports left, for example. */
function systemCallOf(error: unknown): string | undefined {
  const call = (error as { syscall?: unknown } | null)?.syscall;
  return typeof call === "string" ? call : undefined;
}

function messageOf(error: unknown): string {
  return String((error as { message?: unknown } | null)?.message).split("\n")[0]!;
}
