/**
 * How the server is: its version, what it keeps in a power cut, what it does when its memory is full, its clock.
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

/** Over this share of its limit, memory is worth a word. */
const MUCH = 0.8;

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
    version: `Redis ${info.get("redis_version") ?? "(this user may not ask for its version)"}`,
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
      message: `it may throw jobs away when its memory is full: its maxmemory-policy is "${policy}"`,
      cure: "redis-cli CONFIG SET maxmemory-policy noeviction, and the same in redis.conf",
    });
  }
  const [used, most] = [Number(info.get("used_memory")), Number(info.get("maxmemory"))];
  if (most > 0 && used > most * MUCH) {
    found.push({
      message: `${Math.round(used / most * 100)} % of its maxmemory are used; when it is full, pushes fail`,
      cure: "raise its maxmemory, or shorten what is kept (retention in the configuration)",
    });
  }
  for (const [what, field] of [["append-only file", "aof_last_write_status"], ["snapshot", "rdb_last_bgsave_status"]]) {
    if (info.get(field!) === "err") {
      found.push({
        message: `it could not write its ${what} last time`,
        cure: "see its log: no room, or no permission",
      });
    }
  }
  if (info.get("role") === "slave") {
    found.push({ message: "it is a replica, which takes no jobs", cure: "name its master" });
  }
  return found;
}

function foreignFinding(queue: string): HealthFinding {
  const key = JSON.stringify(queueKey(queue));
  return {
    message: `the queue ${
      JSON.stringify(queue)
    } cannot be used: its key ${key} is not a list, another program wrote it`,
    cure: `look at it with redis-cli TYPE ${key}; rename or delete it, or use another queue or database`,
  };
}

/** A setting of the server; undefined when this user may not read it. */
async function readSetting(client: ReconnectingClient, name: string): Promise<string | undefined> {
  try {
    const answer = await client.call(["CONFIG", "GET", name]);
    const pairs = answer instanceof Map
      ? [...answer].flat()
      : Array.isArray(answer)
      ? answer
      : Object.entries(answer as object).flat();
    return pairs[1] as string | undefined;
  } catch (error) {
    if (error instanceof StoreError && error.code === "denied") return undefined;
    throw error;
  }
}
