/**
 * The results of pushes as JSON for programs.
 *
 * @module
 */
import type { PushResult } from "../client/client.ts";

/** A result as JSON. */
export interface PushJson {
  readonly jid?: string;
  readonly existed?: boolean;
  readonly replaced?: boolean;
  readonly refused?: string;
  readonly duplicateOf?: string;
  readonly throttledBy?: string;
  readonly retryInMs?: number;
}

/** Returns a result as the HTTP API returns it. */
export function pushJson(result: PushResult): PushJson {
  const { kind, jid, refused, ...rest } = result;
  const end = jid === undefined ? { refused } : { jid };
  return { ...end, ...rest, ...((kind === "existed" || kind === "replaced") && { [kind]: true }) };
}

/** Returns the jid of the job that a push stored, that holds the lock, or whose place of the throttle is free next. */
export function knownJid(result: PushResult): string | undefined {
  if (result.kind === "duplicate") return result.duplicateOf;
  return result.kind === "throttled" ? result.throttledBy : result.jid;
}

/** Returns a result as the command line prints it. */
export function printedPush(
  result: PushResult,
): { readonly jid: string | undefined; readonly [field: string]: unknown } {
  const { refused: _, existed: __, ...rest } = pushJson(result);
  return { ...rest, jid: knownJid(result) };
}
