/**
 * The key of a unique lock: a digest of what makes two jobs the same.
 *
 * @module
 */

/** SHA-256 over class, queue and the arguments' text, in hex. */
export async function uniqueKey(className: string, queue: string, args: string): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([className, queue]) + args);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
