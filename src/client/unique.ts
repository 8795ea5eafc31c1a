/**
 * The keys by which the store compares pushes: of unique locks, debounced jobs and throttles.
 *
 * @module
 */
import { nodeCrypto } from "../std/node_crypto.ts";

/**
 * Returns the SHA-256 digest of class, queue and a text, in base64url. Two jobs are the same if these texts are the same. The
 * text is the arguments' JSON text, so the order of an object's keys counts, or that of the option that names the key.
 */
export function uniqueKey(className: string, queue: string, text: string): string {
  return nodeCrypto().createHash("sha256").update(`${JSON.stringify([className, queue])}${text}`).digest("base64url");
}
