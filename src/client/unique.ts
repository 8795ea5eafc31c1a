/**
 * The keys by which the store compares pushes: of unique locks, debounced jobs and throttles.
 *
 * @module
 */

/**
 * Returns the SHA-256 digest of class, queue and a text, in base64url. Two jobs are the same if these texts are the same. The
 * text is the arguments' JSON text, so the order of an object's keys counts, or that of the option that names the key.
 */
export async function uniqueKey(className: string, queue: string, text: string): Promise<string> {
  const bytes = new TextEncoder().encode(`${JSON.stringify([className, queue])}${text}`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return digest.toBase64({ alphabet: "base64url", omitPadding: true });
}
