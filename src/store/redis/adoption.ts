/**
 * What another store had comes in.
 *
 * @module
 */
import { type Adopted, KEYS_KEPT_MS } from "../admin_adopt.ts";
import type { Context } from "./context.ts";
import { adoptedKey, queueKey, SETS } from "./keys.ts";
import { SCRIPTS } from "./script.ts";

/** See `Adopter.adopt`. */
export async function adopt({ link, offset }: Context, jobs: readonly Adopted[]): Promise<number> {
  if (jobs.length === 0) return 0;
  const args = [offset(), `${KEYS_KEPT_MS}`];
  for (const { key, place, payload, at, unique } of jobs) {
    args.push(key, place.in === "queue" ? queueKey(place.queue) : SETS[place.in], `${Math.round(at ?? 0)}`, payload);
    args.push(unique?.key ?? "", unique?.jid ?? "", `${Math.ceil(unique?.ttlMs ?? 0)}`);
  }
  return await link.run(SCRIPTS.adopt, [], args) as number;
}

/** See `Adopter.remember`. */
export async function remember({ link }: Context, key: string): Promise<void> {
  await link.call(["SET", adoptedKey(key), "1", "PX", `${KEYS_KEPT_MS}`]);
}

/** See `Adopter.remembers`. */
export async function remembers({ link }: Context, key: string): Promise<boolean> {
  return await link.call(["EXISTS", adoptedKey(key)]) === 1;
}

/** See `Adopter.forget`. */
export async function forget({ link }: Context, keys: readonly string[]): Promise<void> {
  if (keys.length > 0) await link.call(["UNLINK", ...keys.map(adoptedKey)]);
}
