/**
 * The number of the functions of a schema. It rises whenever their text changes, so that of two versions of this program the newer
 * one decides, however often processes of the older one start.
 *
 * @module
 */
import text from "./functions_number.txt" with { type: "text" };

/** The digests of the functions, by their number. `deno task functions` adds the next one. */
export const DIGESTS: readonly string[] = text.match(/^[0-9a-f]{16}$/gm) ?? [];

/** Returns the digest of a text. */
export async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex().slice(0, 16);
}
