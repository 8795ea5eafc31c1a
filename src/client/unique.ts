/**
 * The keys by which the store compares pushes: of unique locks, debounced jobs and throttles.
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { nodeCrypto } from "../std/node_crypto.ts";
import type { OnceKey } from "../store/port/jobs.ts";

/**
 * Returns the SHA-256 digest of class, queue and a text, in base64url. Two jobs are the same if these texts are the same. The
 * text is the arguments' JSON text, so the order of an object's keys counts, or that of the option that names the key.
 */
export function uniqueKey(className: string, queue: string, text: string): string {
  return nodeCrypto().createHash("sha256").update(`${JSON.stringify([className, queue])}${text}`).digest("base64url");
}

/** A push with the `id` of another one that had another class, queue or arguments, or other nodes. */
export class UsedId extends InvalidPayload {
  /**
   * Creates the error.
   *
   * @param first the jid of the job, or the ID of the flow, that was stored with the key
   */
  constructor({ key }: OnceKey, first: string) {
    const [, kind, id] = /^(id|flow):(.*)$/s.exec(key) ?? [];
    const expected = kind === "flow"
      ? `a new one: flow "${first}" was pushed with it, and with another name or other nodes`
      : `a new one: job "${first}" was pushed with it, and with another class, queue or arguments`;
    super("id", id ?? key, expected);
  }
}
