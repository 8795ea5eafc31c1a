/**
 * The keys by which the store compares pushes: of unique locks, debounced jobs and throttles.
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { withPlainNumbers } from "../job/json_numbers.ts";
import { nodeCrypto } from "../std/node_crypto.ts";
import type { OnceKey } from "../store/port/jobs.ts";

/**
 * Returns the SHA-256 digest of class, queue and a text, in base64url. Two jobs are the same if these texts are the same. The
 * text is the arguments' JSON text, so the order of an object's keys counts, or that of the option that names the key. See
 * {@linkcode jobKey} for numbers.
 */
export function uniqueKey(className: string, queue: string, text: string): string {
  return nodeCrypto().createHash("sha256").update(`${JSON.stringify([className, queue])}${text}`).digest("base64url");
}

/** Returns {@linkcode uniqueKey} of JSON text: equal numbers are equal, in whichever way they are written. */
export function jobKey(className: string, queue: string, json: string): string {
  return uniqueKey(className, queue, withPlainNumbers(json));
}

/** The former use of an ID, by the kind of its key. */
const USED: Readonly<Record<string, (first: string) => string>> = {
  id: (first) => `job "${first}" was pushed with it, and with another class, queue or arguments`,
  flow: (first) => `flow "${first}" was pushed with it, and with another name or other nodes`,
  batch: (first) => `batch "${first}" was opened with it, and with other options`,
};

/** A push with the `id` of another one that had another class, queue or arguments, other nodes, or other options of a batch. */
export class UsedId extends InvalidPayload {
  /**
   * Creates the error.
   *
   * @param first the jid of the job, or the ID of the flow or batch, that was stored with the key
   */
  constructor({ key }: OnceKey, first: string) {
    const [, kind = "id", id = key] = /^(id|flow|batch):(.*)$/s.exec(key) ?? [];
    super("id", id, `a new one: ${USED[kind]!(first)}`);
  }
}
