/**
 * A soak on a separate Redis server. Each program reaches it through a separate proxy.
 *
 * @module
 */
import { openStore } from "../../src/store/open.ts";
import { type RedisServer, startRedis } from "../support/redis.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import type { Disturbance } from "./disturbance.ts";
import type { Ground, GroundOptions, Line } from "./ground.ts";
import { lineDisturbances } from "./disturb_lines.ts";
import { redisDisturbances } from "./disturb_redis.ts";
import { ShiftedClock } from "./shifted_clock.ts";

/** A line through a proxy. */
export class ProxiedLine implements Line {
  readonly proxy: TcpProxy;

  constructor(proxy: TcpProxy) {
    this.proxy = proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.proxy.port}/0`;
  }

  clear(): void {
    this.proxy.delayMs = 0;
    this.proxy.weather = "fair";
  }
}

/** Starts the server, with an append-only file that is forced to disk at each write. */
export async function openRedisGround({ incidents, folder, heartbeatTimeoutMs }: GroundOptions): Promise<Ground> {
  const clock = await ShiftedClock.make(folder);
  const redis = await startRedis({ aof: "always", ...(clock && { env: clock.env }) });
  const store = await openStore(redis.url);
  const lines: ProxiedLine[] = [];
  const disturbances: Disturbance[] = [
    ...lineDisturbances(heartbeatTimeoutMs),
    ...redisDisturbances({ redis, clock, incidents, heartbeatTimeoutMs }),
  ];
  return {
    kind: "redis",
    store,
    env: {},
    disturbances,
    leftOut: clock ? [] : ["clock jumps: no C compiler (cc)"],
    async line() {
      const line = new ProxiedLine(await TcpProxy.start(redis.port));
      lines.push(line);
      return line;
    },
    leftovers: () => leftovers(redis),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      for (const { proxy } of lines) await proxy[Symbol.asyncDispose]();
      await redis[Symbol.asyncDispose]();
    },
  };
}

/** Keys that exist only while a job is running, or a worker. */
const NOT_AT_REST = /^(jobs:(leases|workers?|commands|unique|unique-of|claim)\b|processes$)/;

async function leftovers(redis: RedisServer): Promise<string[]> {
  const keys = (await redis.cli("--scan")).split("\n").filter((key) => NOT_AT_REST.test(key));
  return await Promise.all(keys.map(async (key) => `${await redis.cli("TYPE", key)} ${key}`));
}
