/**
 * The token with which an endpoint reports about its job to a dashboard. It names one attempt, and is signed with the key that all
 * dashboards of the store share, so that any of them can check it. It ends with the lease of the attempt.
 *
 * @module
 */
import { createHmac, timingSafeEqual } from "node:crypto";

/** An attempt that may be reported about. */
export interface ReportedAttempt {
  readonly worker: string;
  /** The token of its lease. */
  readonly lease: string;
}

/** Returns the token of an attempt. */
export function reportToken(key: string, { worker, lease }: ReportedAttempt): string {
  const named = new TextEncoder().encode(JSON.stringify([worker, lease])).toBase64({ alphabet: "base64url" });
  return `${named}.${proofOf(key, named)}`;
}

/** Returns the attempt of a token; undefined if the token isn't signed with the key. */
export function readReportToken(key: string, token: string): ReportedAttempt | undefined {
  const [named = "", proof = ""] = token.split(".");
  const [given, expected] = [proof, proofOf(key, named)].map((text) => new TextEncoder().encode(text));
  if (given!.length !== expected!.length || !timingSafeEqual(given!, expected!)) return undefined;
  const text = new TextDecoder().decode(Uint8Array.fromBase64(named, { alphabet: "base64url" }));
  const [worker, lease] = JSON.parse(text) as [string, string];
  return { worker, lease };
}

function proofOf(key: string, named: string): string {
  return createHmac("sha256", key).update(`report ${named}`).digest("base64url");
}
