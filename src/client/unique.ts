/**
 * The key of a unique lock.
 *
 * @module
 */

/**
 * Returns the SHA-256 digest of class, queue and the arguments' JSON text, in base64url. Two jobs are the same if these
 * texts are the same, so the order of an object's keys counts.
 */
export async function uniqueKey(className: string, queue: string, args: string): Promise<string> {
  const bytes = new TextEncoder().encode(`${JSON.stringify([className, queue])}${args}`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return digest.toBase64({ alphabet: "base64url", omitPadding: true });
}
