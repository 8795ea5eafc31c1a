/**
 * A group of Redis servers for tests: a master, its replicas, and a Sentinel that can switch to another master.
 *
 * @module
 */
import { until } from "./eventually.ts";
import { type RedisServer, type RedisServerOptions, startRedis } from "./redis.ts";

/** Options of the group. */
export interface RedisGroupOptions extends RedisServerOptions {
  /** Number of replicas. Default 1. */
  readonly replicas?: number;
}

/** A running group. */
export interface RedisGroup extends AsyncDisposable {
  /** The first is the master at the start. */
  readonly servers: readonly RedisServer[];
  readonly sentinel: RedisServer;
  /** `redis+sentinel://…/mymaster`. */
  readonly url: string;
  /** Returns the server that the Sentinel names now. */
  master(): Promise<RedisServer>;
  /** Resolves when the master accepts writes under `min-replicas-to-write 1`: a replica follows it. */
  followed(): Promise<void>;
  /** Lets the Sentinel switch to a replica, as before maintenance. Resolves when it names the new master. */
  failover(): Promise<void>;
}

const MASTER = "mymaster";
/** A Sentinel on a busy machine believes that its clock jumped, and does nothing for 30 s after each time. */
const WITHIN_MS = 180_000;

/** Starts a group, and waits until every replica follows. */
export async function startRedisGroup({ replicas = 1, ...given }: RedisGroupOptions = {}): Promise<RedisGroup> {
  await using parts = new AsyncDisposableStack();
  // Without a disk a master counts a new replica a second before it sends it anything.
  const options = { ...given, config: { "repl-diskless-sync": "no", ...given.config } };
  const first = parts.use(await startRedis(options));
  const others: RedisServer[] = [];
  for (let i = 0; i < replicas; i++) {
    const config = { ...options.config, replicaof: `127.0.0.1 ${first.port}` };
    others.push(parts.use(await startRedis({ ...options, config })));
  }
  const servers = [first, ...others];
  for (const one of others) await until(async () => (await one.cli("ROLE")).includes("connected"));
  const sentinel = parts.use(
    await startRedis({
      args: ["--sentinel"],
      config: {
        [`sentinel monitor ${MASTER} 127.0.0.1`]: `${first.port} 1`,
        // Only a planned failover: a busy machine must not switch by itself.
        [`sentinel down-after-milliseconds ${MASTER}`]: "600000",
        [`sentinel failover-timeout ${MASTER}`]: "60000",
      },
    }),
  );
  const knows = async () => {
    const known = await sentinel.cli("SENTINEL", "REPLICAS", MASTER);
    return others.every(({ port }) => known.includes(`${port}`));
  };
  await until(knows);
  const master = async () => {
    const named = await sentinel.cli("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER);
    return servers.find(({ port }) => named.endsWith(`${port}`))!;
  };
  const followed = () =>
    until(
      async () => (await (await master()).cli("INFO", "replication")).includes("state=online"),
      "a replica follows",
    );
  const owned = parts.move();
  return {
    servers,
    sentinel,
    url: `redis+sentinel://127.0.0.1:${sentinel.port}/${MASTER}`,
    master,
    followed,
    async failover() {
      await followed();
      const before = await master();
      // Refused until the Sentinel has seen the replicas follow, and while the last failover is pending.
      const begins = async () => (await sentinel.cli("SENTINEL", "FAILOVER", MASTER)) === "OK";
      await until(begins, "the Sentinel begins a failover", WITHIN_MS);
      await until(async () => (await master()) !== before, "the Sentinel names the new master", WITHIN_MS);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
