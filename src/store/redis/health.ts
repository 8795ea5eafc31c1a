/**
 * The health of the server: its version, its durability in a power cut, its behaviour when memory is full, its clock.
 *
 * @module
 */
import { StoreError } from "../port/errors.ts";
import type { Health, HealthFinding } from "../admin/health.ts";
import type { Context } from "./context.ts";
import { foreignQueues } from "./counts.ts";
import { readInfo } from "./client/info.ts";
import { queueKey } from "./keys.ts";
import type { ReconnectingClient } from "./client/reconnecting_client.ts";

/** The share of `maxmemory` above which a finding is reported. */
const MAX_MEMORY_SHARE = 0.8;

/** See `HealthReader.health`. */
export async function health(context: Context): Promise<Health> {
  const { client, offset } = context;
  const [info, fsync, time, foreign] = await Promise.all([
    readInfo(client),
    readSetting(client, "appendfsync"),
    client.call(["TIME"]) as Promise<[seconds: string, microseconds: string]>,
    foreignQueues(context),
  ]);
  const aof = info.get("aof_enabled");
  return {
    version: `Redis ${info.get("redis_version") ?? "(version unknown: this user may not run INFO)"}`,
    durability: aof === undefined
      ? undefined
      : aof === "0"
      ? "none"
      : fsync === undefined
      ? undefined
      : DURABILITY[fsync],
    now: Number(time[0]) * 1_000 + Math.floor(Number(time[1]) / 1_000) + Number(offset()),
    findings: [...findings(info), ...foreign.map(foreignFinding)],
  };
}

const DURABILITY: Readonly<Record<string, Health["durability"]>> = { always: "full", everysec: "normal", no: "none" };

function findings(info: ReadonlyMap<string, string>): HealthFinding[] {
  const found: HealthFinding[] = [];
  const policy = info.get("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") {
    found.push({
      message: `it may delete jobs when its memory is full: its maxmemory-policy is "${policy}"`,
      cure: "redis-cli CONFIG SET maxmemory-policy noeviction, and the same in redis.conf",
    });
  }
  const [used, max] = [Number(info.get("used_memory")), Number(info.get("maxmemory"))];
  if (max > 0 && used > max * MAX_MEMORY_SHARE) {
    found.push({
      message: `${Math.round(used / max * 100)} % of its maxmemory is used; pushes fail when it is full`,
      cure: "raise its maxmemory, or shorten the retention in the configuration",
    });
  }
  for (const [what, field] of [["append-only file", "aof_last_write_status"], ["snapshot", "rdb_last_bgsave_status"]]) {
    if (info.get(field!) === "err") {
      found.push({
        message: `its last write of the ${what} failed`,
        cure: "see its log: full disk, or missing permission",
      });
    }
  }
  if (info.get("role") === "slave") {
    found.push({ message: "it is a replica, which accepts no jobs", cure: "use the address of its master" });
  }
  return found;
}

function foreignFinding(queue: string): HealthFinding {
  const key = JSON.stringify(queueKey(queue));
  return {
    message: `the queue ${
      JSON.stringify(queue)
    } cannot be used: its key ${key} is not a list, so another program wrote it`,
    cure: `check it with redis-cli TYPE ${key}; rename or delete it, or use another queue or database`,
  };
}

/** Returns a setting of the server; undefined if this user may not read it. */
async function readSetting(client: ReconnectingClient, name: string): Promise<string | undefined> {
  try {
    const reply = await client.call(["CONFIG", "GET", name]);
    const pairs = reply instanceof Map
      ? [...reply].flat()
      : Array.isArray(reply)
      ? reply
      : Object.entries(reply as object).flat();
    return pairs[1] as string | undefined;
  } catch (error) {
    if (error instanceof StoreError && error.code === "denied") return undefined;
    throw error;
  }
}
