/**
 * Signatures of requests, by Standard Webhooks 1.0 (symmetric, `v1`): https://github.com/standard-webhooks/standard-webhooks
 *
 * @module
 */
import { createHmac } from "node:crypto";

/** A request to sign. */
export interface Signed {
  /** Without dots, which would let two requests have one signature. */
  readonly id: string;
  /** Epoch seconds. */
  readonly timestamp: number;
  readonly body: string;
}

/** Returns the headers that identify and sign a request. Without secrets, they don't include a signature. */
export function signedHeaders(request: Signed, secrets: readonly Uint8Array[]): Record<string, string> {
  const signatures = secrets.map((secret) => signatureOf(request, secret));
  return {
    "webhook-id": request.id,
    "webhook-timestamp": String(request.timestamp),
    ...(signatures.length > 0 && { "webhook-signature": signatures.join(" ") }),
  };
}

function signatureOf({ id, timestamp, body }: Signed, secret: Uint8Array): string {
  return `v1,${createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}
