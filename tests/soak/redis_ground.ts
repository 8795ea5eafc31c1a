/**
 * A soak on a separate group of Redis servers. Each program reaches them through separate proxies.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { openStore } from "../../src/store/open.ts";
import { Connection } from "../../src/store/redis/client/connection.ts";
import type { RedisServer } from "../support/redis.ts";
import { startRedisGroup } from "../support/redis_group.ts";
import type { Disturbance } from "./disturbance.ts";
import { insisting } from "./insist.ts";
import type { Ground, GroundOptions, RawPlace } from "./ground.ts";
import { lineDisturbances } from "./disturb_lines.ts";
import { redisDisturbances } from "./disturb_redis.ts";
import { RedisLine } from "./redis_line.ts";
import { ShiftedClock } from "./shifted_clock.ts";

/**
 * Starts a master with a replica and a Sentinel. Their append-only files are forced to disk at each write. Writes need the
 * replica, so that a planned failover loses none.
 */
export async function openRedisGround({ incidents, folder, heartbeatTimeoutMs }: GroundOptions): Promise<Ground> {
  const clock = await ShiftedClock.make(folder);
  const config = { "min-replicas-to-write": "1" };
  const group = await startRedisGroup({ aof: "always", config, ...(clock && { env: clock.env }) });
  const store = insisting(await openStore(group.url));
  const lines: RedisLine[] = [];
  const disturbances: Disturbance[] = [
    ...lineDisturbances(heartbeatTimeoutMs),
    ...redisDisturbances({ group, clock, incidents, heartbeatTimeoutMs }),
  ];
  return {
    kind: "redis",
    store,
    url: group.url,
    env: {},
    disturbances,
    leftOut: clock ? [] : ["clock jumps: no C compiler (cc)"],
    async line() {
      const line = await RedisLine.make(group);
      lines.push(line);
      return line;
    },
    pushRaw: async (place, payload) => await pushRaw(await group.master(), place, payload),
    leftovers: async () => await leftovers(await group.master()),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      for (const line of lines) await line[Symbol.asyncDispose]();
      await group[Symbol.asyncDispose]();
    },
  };
}

/**
 * Writes as a program with another library does, whose payloads may have any bytes.
 *
 * @throws {Error} with Redis' reply if it doesn't accept the write
 */
async function pushRaw({ port }: RedisServer, place: RawPlace, payload: Uint8Array): Promise<void> {
  const commands = place === "scheduled"
    ? [["ZADD", "schedule", `${Date.now() / 1_000}`, payload]]
    : [["SADD", "queues", place.queue], ["LPUSH", `queue:${place.queue}`, payload]];
  const endpoint = { host: "127.0.0.1", port };
  const options = { endpoint, login: {}, database: 0, name: "foreign", replyTimeoutMs: 20_000 };
  const connection = await Connection.connect(options, new AbortController().signal);
  try {
    for (const command of commands) {
      await connection.send(command.map((arg) => typeof arg === "string" ? arg : Buffer.from(arg)));
    }
  } finally {
    connection.destroy();
  }
}

/** Keys that exist only while a job is running, or a worker. */
const NOT_AT_REST = /^(jobs:(leases|workers?|commands|unique|unique-of|claim)\b|processes$)/;

async function leftovers(redis: RedisServer): Promise<string[]> {
  const keys = (await redis.cli("--scan")).split("\n").filter((key) => NOT_AT_REST.test(key));
  return await Promise.all(keys.map(async (key) => `${await redis.cli("TYPE", key)} ${key}`));
}
