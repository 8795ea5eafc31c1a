/**
 * The token with which an endpoint reports about its job to a dashboard. It names one attempt, and is encrypted with the key that all
 * dashboards of the store share: any of them can read it, and the endpoint learns no worker ID. It ends with the lease of the attempt.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

/** An attempt that may be reported about. */
export interface ReportedAttempt {
  readonly worker: string;
  /** The token of its lease. */
  readonly lease: string;
}

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Returns the token of an attempt. */
export function reportToken(key: string, { worker, lease }: ReportedAttempt): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, cipherKey(key), iv);
  const text = [cipher.update(JSON.stringify([worker, lease]), "utf8"), cipher.final()];
  return Buffer.concat([iv, cipher.getAuthTag(), ...text]).toString("base64url");
}

/** Returns the attempt of a token; undefined if the token wasn't made with the key. */
export function readReportToken(key: string, token: string): ReportedAttempt | undefined {
  const bytes = Buffer.from(token, "base64url");
  // Node skips what isn't base64: another text of the same bytes is another token.
  if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString("base64url") !== token) return undefined;
  const decipher = createDecipheriv(CIPHER, cipherKey(key), bytes.subarray(0, IV_BYTES));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
    const [worker, lease] = JSON.parse(text) as [string, string];
    return { worker, lease };
  } catch {
    return undefined;
  }
}

function cipherKey(key: string): Uint8Array {
  return createHmac("sha256", key).update("report").digest();
}
