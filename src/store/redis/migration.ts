/**
 * The migration part of the port: imports jobs of another store, and exports the jobs of this one.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import type { SetName } from "../admin/admin.ts";
import { KEYS_KEPT_MS, type MigrationStore, type OnceKeyState, type ThrottleState } from "../admin/migration.ts";
import { getField } from "../../job/raw.ts";
import type { Arg } from "./client/encode.ts";
import { SCRIPTS } from "./client/scripts.ts";
import type { Context } from "./context.ts";
import { ANNOUNCED, debounceKey, importedKey, listKey, onceKey, SETS, stepsKey, throttleKey } from "./keys.ts";
import { locateAll } from "./locate.ts";
import { jidOf } from "./move_request.ts";
import { parseRef } from "./refs.ts";

/** Keys of any kind that are looked at for a page of throttles. */
const KEYS_PER_PAGE = 1_000;

/** Returns the part. */
export function migrationPart({ client, offset }: Context): MigrationStore {
  const time = async () => {
    const [seconds, micros] = await client.call(["TIME"]) as [string, string];
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000) + Number(offset());
  };
  return {
    async importJobs(batch, jobs) {
      if (jobs.length === 0) return 0;
      const args = [offset(), `${KEYS_KEPT_MS}`];
      for (const { place, payload, at, unique, debounce } of jobs) {
        args.push(place.in === "queue" ? listKey(place) : SETS[place.in], `${Math.round(at ?? 0)}`, payload);
        args.push(unique?.key ?? "", unique?.jid ?? "", `${Math.ceil(unique?.ttlMs ?? 0)}`);
        args.push(debounce?.key ?? "", `${Math.round(debounce?.firstAt ?? 0)}`, debounce?.jid ?? "");
      }
      return await client.run(SCRIPTS.importJobs, [importedKey(batch)], args) as number;
    },
    async importSteps(jid, steps) {
      const pairs = steps.flatMap(({ name, record }) => [name, record]);
      await client.run(SCRIPTS.importSteps, [stepsKey(jid)], [offset(), jid, ...pairs]);
    },
    async debounced(entries) {
      const keyed = entries.flatMap(({ ref, place, payload }) => {
        const key = place.in === "scheduled" && payload.includes('"debounce_key"') && getField(payload, "debounce_key");
        return typeof key === "string" ? [{ ref, payload, key }] : [];
      });
      if (keyed.length === 0) return new Map();
      const lines = await client.call(["MGET", ...keyed.map(({ key }) => debounceKey(key))]) as (string | null)[];
      return new Map(keyed.flatMap(({ ref, payload, key }, i) => {
        // The record names the member that waits. A member may end in white space.
        const [, firstAt, jid, member] = /^(\d+) (\S+) (.*)$/s.exec(lines[i] ?? "") ?? [];
        return member?.trimEnd() === payload.trimEnd() ? [[ref, { key, firstAt: Number(firstAt), jid: jid! }]] : [];
      }));
    },
    async throttles(cursor = "0") {
      const scan = ["SCAN", cursor, "MATCH", throttleKey("*"), "COUNT", `${KEYS_PER_PAGE}`];
      const [next, keys] = await client.call(scan) as [string, string[]];
      const throttles: ThrottleState[] = [];
      while (keys.length > 0) {
        const [read, ...fields] = await client.run(SCRIPTS.readThrottles, keys, [offset()]) as [number, ...Field[]];
        keys.splice(0, read);
        throttles.push(...throttlesIn(fields));
      }
      return { throttles, ...(next !== "0" && { next }) };
    },
    async importThrottles(throttles) {
      const args = throttles.flatMap(({ key, perMs, pushes }) => [
        ...[key, `${Math.ceil(perMs)}`, `${pushes.length}`],
        ...pushes.flatMap(({ agoMs, jid }) => [`${Math.round(agoMs)}`, jid]),
      ]);
      await client.run(SCRIPTS.importThrottles, [], [offset(), ...args]);
    },
    async removeThrottles(keys) {
      if (keys.length > 0) await client.call(["UNLINK", ...keys.map(throttleKey)]);
    },
    async onceKeys(cursor = "0") {
      const scan = ["SCAN", cursor, "MATCH", onceKey("*"), "COUNT", `${KEYS_PER_PAGE}`];
      const [next, found] = await client.call(scan) as [string, string[]];
      const lines = found.length === 0 ? [] : await client.call(["MGET", ...found]) as (string | null)[];
      const now = await time();
      const keys = found.flatMap((key, i): OnceKeyState[] => {
        // As included/once_keys.lua writes it.
        const [, till, fingerprint = "", jid] = /^(\d+)\/?([\w-]*) (.*)$/s.exec(lines[i] ?? "") ?? [];
        const leftMs = Number(till) - now;
        return leftMs > 0 ? [{ key: key.slice(onceKey("").length), jid: jid!, leftMs, fingerprint }] : [];
      });
      return { keys, ...(next !== "0" && { next }) };
    },
    async importOnceKeys(keys) {
      const now = await time();
      await Promise.all(keys.map(({ key, jid, leftMs, fingerprint }) => {
        const line = `${Math.ceil(now + leftMs)}${fingerprint && `/${fingerprint}`} ${jid}`;
        return client.call(["SET", onceKey(key), line, "NX", "PX", `${Math.ceil(leftMs) + 60_000}`]);
      }));
    },
    async removeOnceKeys(keys) {
      if (keys.length > 0) await client.call(["UNLINK", ...keys.map(onceKey)]);
    },
    async rememberKey(key) {
      await client.call(["SET", importedKey(key), "1", "PX", `${KEYS_KEPT_MS}`]);
    },
    hasKey: async (key) => await client.call(["EXISTS", importedKey(key)]) === 1,
    async forgetKey(key) {
      await client.call(["UNLINK", importedKey(key)]);
    },
    async announced() {
      const [id, refs] = await client.call(["HMGET", ANNOUNCED, "id", "refs"]) as [string | null, string | null];
      return refs === null ? undefined : { id: id!, refs: JSON.parse(refs) as string[] };
    },
    async announce(refs) {
      const reply = await client.run(SCRIPTS.announce, [ANNOUNCED], [randomUUID(), JSON.stringify(refs)]);
      const [id, announced] = reply as [string, string];
      return { id, refs: JSON.parse(announced) as string[] };
    },
    async removeAnnounced({ id, refs }) {
      const found = await locateAll(client, refs.map(parseRef).filter((ref) => ref !== undefined));
      const args: Arg[] = [id];
      for (const one of found) {
        if (one === undefined) continue;
        const { place, position, member: { text, exact } } = one;
        if (place.in === "queue") args.push(listKey(place), `${position}`, exact, jidOf(text));
        else args.push(SETS[place.in as SetName], "", exact, jidOf(text));
      }
      return await client.run(SCRIPTS.migrateOut, [ANNOUNCED], args) as number;
    },
  };
}

type Field = string | number;

/** Reads throttles as the script returns them. */
function* throttlesIn(fields: readonly Field[]): Generator<ThrottleState> {
  for (let i = 0; i < fields.length;) {
    const [key, perMs, count] = fields.slice(i, i += 3) as [string, number, number];
    const pushes = Array.from({ length: count }, (_, k) => ({
      agoMs: fields[i + 2 * k] as number,
      jid: fields[i + 2 * k + 1] as string,
    }));
    i += 2 * count;
    yield { key, perMs, pushes };
  }
}
