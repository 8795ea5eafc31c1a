/**
 * The key of a unique lock: a digest of what makes two jobs the same.
 *
 * @module
 */

/**
 * SHA-256 over class, queue and the arguments' text, in base64url. Arguments are the same when their JSON is, so the
 * order of an object's keys counts.
 */
export async function uniqueKey(className: string, queue: string, args: string): Promise<string> {
  const bytes = new TextEncoder().encode(`${JSON.stringify([className, queue])}${args}`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return digest.toBase64({ alphabet: "base64url", omitPadding: true });
}
