/**
 * Jobs come in from another store, and leave for another store.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import type { SetName } from "../admin/admin.ts";
import { type Departure, type ImportedJob, KEYS_KEPT_MS } from "../admin/import.ts";
import type { Arg } from "./client/connection.ts";
import type { Context } from "./context.ts";
import { adoptedKey, DEPARTURE, queueKey, SETS } from "./keys.ts";
import { locateAll } from "./locate.ts";
import { jidOf } from "./move_request.ts";
import { parseRef } from "./refs.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** See `Adopter.adopt`. */
export async function adopt({ link, offset }: Context, batch: string, jobs: readonly ImportedJob[]): Promise<number> {
  if (jobs.length === 0) return 0;
  const args = [offset(), `${KEYS_KEPT_MS}`];
  for (const { place, payload, at, unique } of jobs) {
    args.push(place.in === "queue" ? queueKey(place.queue) : SETS[place.in], `${Math.round(at ?? 0)}`, payload);
    args.push(unique?.key ?? "", unique?.jid ?? "", `${Math.ceil(unique?.ttlMs ?? 0)}`);
  }
  return await link.run(SCRIPTS.adopt, [adoptedKey(batch)], args) as number;
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
export async function forget({ link }: Context, key: string): Promise<void> {
  await link.call(["UNLINK", adoptedKey(key)]);
}

/** See `Adopter.departure`. */
export async function departure({ link }: Context): Promise<Departure | undefined> {
  const [id, refs] = await link.call(["HMGET", DEPARTURE, "id", "refs"]) as [string | null, string | null];
  return refs === null ? undefined : { id: id!, refs: JSON.parse(refs) as string[] };
}

/** See `Adopter.announce`. */
export async function announce({ link }: Context, refs: readonly string[]): Promise<Departure> {
  const reply = await link.run(SCRIPTS.announce, [DEPARTURE], [randomUUID(), JSON.stringify(refs)]);
  const [id, announced] = reply as [string, string];
  return { id, refs: JSON.parse(announced) as string[] };
}

/** See `Adopter.depart`. */
export async function depart(context: Context, { id, refs }: Departure): Promise<number> {
  const { link } = context;
  const found = await locateAll(link, refs.map(parseRef).filter((ref) => ref !== undefined));
  const args: Arg[] = [id];
  for (const one of found) {
    if (one === undefined) continue;
    const { place, position, member: { text, exact } } = one;
    if (place.in === "queue") args.push(queueKey(place.queue), `${position}`, exact, jidOf(text));
    else args.push(SETS[place.in as SetName], "", exact, jidOf(text));
  }
  return await link.run(SCRIPTS.depart, [DEPARTURE], args) as number;
}
