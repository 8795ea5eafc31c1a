/**
 * The health of the server: its version, its durability in a power cut, its behaviour when memory is full, its clock.
 *
 * @module
 */
import type { Health, HealthFinding } from "../admin/health.ts";
import type { Context } from "./context.ts";
import { foreignQueues } from "./counts.ts";
import { ask, readInfo, readSetting } from "./client/info.ts";
import { queueKey } from "./keys.ts";
import { type LostLock, lostLocks } from "./lost_locks.ts";

/** The share of `maxmemory` above which a finding is reported. */
const MAX_MEMORY_SHARE = 0.8;

/** See `HealthReader.health`. */
export async function health(context: Context): Promise<Health> {
  const { client, offset } = context;
  const [info, fsync, time, foreign, failures] = await Promise.all([
    readInfo(client),
    readSetting(client, "appendfsync"),
    client.call(["TIME"]) as Promise<[seconds: string, microseconds: string]>,
    foreignQueues(context),
    ask(client, ["HMGET", "jobs:failures", "count", "at", "last"]),
  ]);
  const now = Number(time[0]) * 1_000 + Math.floor(Number(time[1]) / 1_000) + Number(offset());
  const locks = await lostLocks(context, now);
  const aof = info.get("aof_enabled");
  return {
    version: versionOf(info),
    durability: aof === undefined
      ? undefined
      : aof === "0"
      ? "none"
      : fsync === undefined
      ? undefined
      : DURABILITY[fsync],
    now,
    findings: [
      ...findings(info, context.hasSentinel),
      ...foreign.map(foreignFinding),
      ...failureFindings(failures),
      ...lockFindings(locks),
    ],
  };
}

function versionOf(info: ReadonlyMap<string, string>): string {
  const valkey = info.get("valkey_version");
  return valkey === undefined
    ? `Redis ${info.get("redis_version") ?? "(version unknown: INFO is denied)"}`
    : `Valkey ${valkey}`;
}

const DURABILITY: Readonly<Record<string, Health["durability"]>> = { always: "full", everysec: "normal", no: "none" };

function findings(info: ReadonlyMap<string, string>, sentinel: boolean): HealthFinding[] {
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
  // Only a server with that setting reports how many replicas are good.
  if (sentinel && info.has("role") && !info.has("min_slaves_good_slaves")) {
    found.push({
      message: "a master that is cut off accepts pushes, which a failover loses: its min-replicas-to-write is 0",
      cure:
        "redis-cli CONFIG SET min-replicas-to-write 1 on each server, and the same in redis.conf; pushes then wait while no replica follows (docs/operate/redis.md)",
    });
  }
  return found;
}

/** Reports the parts of scripts that failed (`apart` in lua/payloads.lua). @param reply how many, when the last one did in seconds, and its error */
function failureFindings(reply: unknown): HealthFinding[] {
  const [count, at, last] = (reply ?? []) as (string | null)[];
  if (typeof count !== "string") return [];
  const when = new Date(Number(at) * 1_000).toISOString();
  return [{
    message:
      `${count} ${
        count === "1" ? "part of a script was" : "parts of scripts were"
      } skipped, because a key has the wrong type; ` +
      `the last one at ${when}: ${last}`,
    cure: "rename or delete the key of the wrong type; then redis-cli DEL jobs:failures ends this warning",
  }];
}

/** Number of locks that the command names. */
const MAX_NAMED_LOCKS = 10;

function lockFindings(locks: readonly LostLock[]): HealthFinding[] {
  if (locks.length === 0) return [];
  const some = locks.slice(0, MAX_NAMED_LOCKS);
  const names = some.flatMap(({ key, jid }) => [key, `jobs:unique-of:${jid}`]).map((key) => JSON.stringify(key));
  const jids = some.map(({ jid }) => jid).join(", ");
  const one = locks.length === 1;
  return [{
    message:
      `${locks.length} unique ${
        one ? "lock belongs to a job that no longer exists" : "locks belong to jobs that no longer exist"
      } ` +
      `(${jids}${locks.length > some.length ? ", …" : ""}): another program deleted ${
        one ? "it" : "them"
      }, and pushes with ${one ? "this lock" : "these locks"} are refused`,
    cure: `redis-cli DEL ${names.join(" ")}`,
  }];
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
