/**
 * Disturbances of the Redis server.
 *
 * @module
 */
import { until } from "../support/eventually.ts";
import type { RedisGroup } from "../support/redis_group.ts";
import type { Disturbance } from "./disturbance.ts";
import type { GroundOptions } from "./ground.ts";
import type { ShiftedClock } from "./shifted_clock.ts";
import { pause } from "./uptime.ts";

/** A failover, and the time until the old master follows the new one: writes wait for that. */
const FAILOVER_MS = 5_000;
/** As an NTP step or a resumed virtual machine does; longer than the default heartbeat timeout. */
const JUMP_S = 30;

/** The services of these disturbances. */
interface Options extends Omit<GroundOptions, "folder"> {
  readonly group: RedisGroup;
  readonly clock: ShiftedClock | undefined;
}

/** @returns what can be done to the server; clock jumps only where there is a clock to move */
export function redisDisturbances({ group, clock, incidents, heartbeatTimeoutMs }: Options): Disturbance[] {
  const cli = async (...args: string[]) => void await (await group.master()).cli(...args);
  const kind = (name: string, weight: number, forMs: readonly [number, number], run: Disturbance["run"]) =>
    ({ name, weight, hits: "store", forMs, run }) as const;
  const down: Disturbance["run"] = ({ forMs }) =>
    incidents.outage("redis down", async () => {
      const redis = await group.master();
      await redis.kill();
      await pause(forMs);
      await redis.start();
      // It refuses commands while it reads its append-only file.
      await until(async () => await redis.cli("PING") === "PONG", "Redis has loaded its data");
      await group.followed();
    });
  return [
    kind("kill Redis", 2, [0, 1_500], down),
    kind("kill Redis past the timeout", 2, [heartbeatTimeoutMs + 1_000, heartbeatTimeoutMs + 4_000], down),
    kind(
      "freeze Redis",
      1,
      [300, heartbeatTimeoutMs + 3_000],
      ({ forMs }) =>
        incidents.outage("redis frozen", async () => {
          const redis = await group.master();
          redis.signal("SIGSTOP");
          await pause(forMs);
          redis.signal("SIGCONT");
        }),
    ),
    kind(
      "pause Redis",
      2,
      [500, heartbeatTimeoutMs + 2_000],
      ({ forMs, random }) =>
        incidents.outage("redis paused", async () => {
          await cli("CLIENT", "PAUSE", String(Math.round(forMs)), random.chance(0.5) ? "WRITE" : "ALL");
          await pause(forMs);
        }),
    ),
    kind("fill Redis", 1, [500, 4_000], ({ forMs }) =>
      incidents.outage("redis full", async () => {
        await cli("CONFIG", "SET", "maxmemory", "1");
        await pause(forMs);
        await cli("CONFIG", "SET", "maxmemory", "0");
      })),
    kind("cut all clients of Redis", 2, [0, 0], async ({ random }) => {
      await cli("CLIENT", "KILL", "TYPE", random.chance(0.3) ? "pubsub" : "normal");
    }),
    kind("planned failover", 1, [FAILOVER_MS, FAILOVER_MS], () =>
      incidents.outage("failover", async () => {
        const old = await group.master();
        // As the documentation advises: a client that misses the Sentinel's announcement would write to the old master until its end,
        // and a replica that lags would lack the last writes.
        await old.cli("CLIENT", "PAUSE", "60000", "WRITE");
        await until(async () => hasFollowed(await old.cli("INFO", "replication")), "the replicas have all writes");
        await group.failover();
        // The Sentinel does the same, after 10 s or, on a busy machine, after minutes.
        await old.cli("REPLICAOF", "127.0.0.1", `${(await group.master()).port}`);
        await old.cli("CLIENT", "UNPAUSE");
        await group.followed();
      })),
    kind("forget the scripts of Redis", 2, [0, 0], () => cli("SCRIPT", "FLUSH")),
    ...(clock === undefined ? [] : [
      kind("jump of Redis's clock", 1, [0, 0], () => {
        incidents.jumped(JUMP_S);
        return Promise.resolve(clock.jump(JUMP_S));
      }),
    ]),
  ];
}

/** Returns whether each replica has received what the master has written, by the master's `INFO replication`. */
function hasFollowed(info: string): boolean {
  const offset = /^master_repl_offset:(\d+)/m.exec(info)?.[1];
  const received = [...info.matchAll(/^slave\d+:.*\boffset=(\d+)/gm)].map(([, of]) => of);
  return received.length > 0 && received.every((of) => of === offset);
}
