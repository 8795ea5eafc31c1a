/**
 * Opens a store on Redis: connects, and checks the server before anything is stored there.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { StoreError } from "../port/errors.ts";
import type { Store } from "../admin/store.ts";
import type { StoreOptions } from "../open.ts";
import { type Endpoint, parseAddress, type RedisAddress } from "./client/address.ts";
import { Connection, type ConnectOptions } from "./client/connection.ts";
import { BLOCK_S, type Context } from "./context.ts";
import { readInfo } from "./client/info.ts";
import { TYPES } from "./keys.ts";
import type { ReconnectingClientOptions } from "./client/client_options.ts";
import { ReconnectingClient } from "./client/reconnecting_client.ts";
import { Mover } from "./move.ts";
import { SentinelMaster } from "./client/sentinel.ts";
import { redisStore } from "./store.ts";

const DEFAULT_WAIT_MS = 10_000;
const DEFAULT_DEAD_MAX_JOBS = 10_000;
const DEFAULT_DEAD_MAX_AGE_MS = 180 * 24 * 3_600_000;
/** Shortest reply timeout. No script of the store takes a tenth of it. */
const MIN_REPLY_TIMEOUT_MS = 1_000;

/** A subscription can be silent for hours. A ping at this interval detects a lost connection. */
const SUBSCRIPTION_PING_MS = 15_000;

/**
 * Opens the store at a Redis address (see `client/address.ts` for its forms).
 *
 * @throws {StoreError} if the address is invalid, or the server is unreachable for `waitMs` or not supported
 */
export async function openRedis(url: string, options: StoreOptions): Promise<Store> {
  const address = parseAddress(url);
  const waitMs = options.waitMs ?? DEFAULT_WAIT_MS;
  const tls = await readTls(address);
  const replyTimeoutMs = Math.max(MIN_REPLY_TIMEOUT_MS, waitMs / 4);
  const backoff = options.maxBackoffMs === undefined ? {} : { maxBackoffMs: options.maxBackoffMs };
  const clients = new Set<ReconnectingClient>();
  const master = masterOf(address);

  function newClient(
    name: string,
    replyTimeoutMs: number,
    options: Partial<ReconnectingClientOptions> = {},
  ): ReconnectingClient {
    const connectOptions = { name: `jobs:${name}`, replyTimeoutMs, ...(tls ? { tls } : {}) };
    const client = new ReconnectingClient({
      connect: (signal, probe) => connect(address, { ...connectOptions, ...(probe ? { probe } : {}) }, signal, master),
      shown: address.shown,
      waitMs,
      ...backoff,
      onClose: () => clients.delete(client),
      ...options,
    });
    clients.add(client);
    return client;
  }

  const client = newClient("commands", replyTimeoutMs, {
    ...(options.log ? { log: options.log } : {}),
    // A blocked connection is silent, and would detect the loss much later.
    onLost: () => clients.forEach((other) => other === client || other.reset("the connection for commands is lost")),
  });
  const shared: Omit<Context, "mover"> = {
    client,
    subscriptions: newClient("subscriptions", replyTimeoutMs, { pingMs: SUBSCRIPTION_PING_MS }),
    blockingClient: (name) => newClient(name, BLOCK_S * 2_000),
    hasSentinel: master !== undefined,
    offset: offsetOf(options.clock),
    waitMs,
    wire: options.sidekiqWire ?? 7,
    deadLimits: [
      `${options.deadMaxJobs ?? DEFAULT_DEAD_MAX_JOBS}`,
      `${options.deadMaxAgeMs ?? DEFAULT_DEAD_MAX_AGE_MS}`,
    ],
  };
  const context: Context = { ...shared, mover: new Mover(shared) };
  const close = async () => {
    await Promise.all([...[...clients].map((client) => client.close()), master?.close()]);
  };
  master?.follow({ name: "jobs:sentinel", ...(tls ? { tls } : {}) }, {
    onReplaced: (why) => clients.forEach((one) => one.reset(why)),
    onReady: () => clients.forEach((one) => one.retryNow()),
    onDeaf: (why) => options.log?.("warn", why),
  });
  try {
    await inspect(client, options.log);
  } catch (error) {
    await close();
    throw error;
  }
  return redisStore(context, close);
}

/** Returns the milliseconds to add to the server's time: the difference between `clock` and the system's clock. */
function offsetOf(clock: StoreOptions["clock"]): () => string {
  if (!clock || clock === systemClock) return () => "0";
  return () => `${Math.round(clock.now() - systemClock.now())}`;
}

/** Reads the certificate that the address names. Returns undefined without TLS. */
export async function readTls({ tls, shown }: RedisAddress): Promise<{ ca?: string } | undefined> {
  if (tls?.ca === undefined) return tls;
  try {
    return { ca: await Deno.readTextFile(tls.ca) };
  } catch (error) {
    const why = (error as Error).message;
    throw new StoreError(
      "wrong",
      `Cannot use the address "${shown}": its certificate "${tls.ca}" cannot be read: ${why}`,
    );
  }
}

/** Returns the master of the address, if Sentinels name it. */
function masterOf({ server }: RedisAddress): SentinelMaster | undefined {
  return "master" in server ? new SentinelMaster(server) : undefined;
}

/** Connects to the server, or to the current master of its Sentinels. */
export async function connect(
  address: RedisAddress,
  options: Pick<ConnectOptions, "name" | "replyTimeoutMs" | "tls" | "probe">,
  signal: AbortSignal,
  master = masterOf(address),
): Promise<Connection> {
  const { server, login, database } = address;
  const to = (endpoint: Endpoint) => Connection.connect({ ...options, endpoint, login, database }, signal);
  return await (master?.connect(options, signal, to) ?? to(server as Endpoint));
}

/** Checks that the server is supported, and that no other program uses the database. */
async function inspect(client: ReconnectingClient, log: StoreOptions["log"]): Promise<void> {
  const keys = Object.keys(TYPES);
  const [info, types] = await Promise.all([
    readInfo(client),
    Promise.all(keys.map((key) => client.call(["TYPE", key]) as Promise<string>)),
  ]);
  const version = info.get("redis_version") ?? "";
  if (Number(version.split(".")[0] || 7) < 7) {
    throw new StoreError("wrong", `Redis at "${client.shown}" is too old: expected 7.0 or later, found ${version}`);
  }
  if ([info.get("redis_mode"), info.get("server_mode")].includes("cluster")) {
    throw new StoreError(
      "wrong",
      `Redis at "${client.shown}" runs in cluster mode, where one step cannot span queues: use a server without it (for more than one server, Sentinel)`,
    );
  }
  for (const [i, key] of keys.entries()) {
    if (types[i] !== "none" && types[i] !== TYPES[key]) {
      throw new StoreError(
        "wrong",
        `Redis at "${client.shown}" has a key "${key}" of type ${types[i]}, expected ${
          TYPES[key]
        }: another program uses this database, choose another number`,
      );
    }
  }
  const policy = info.get("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") {
    log?.(
      "warn",
      `Redis at "${client.shown}" may delete jobs when its memory is full: its maxmemory-policy is "${policy}", set it to "noeviction"`,
    );
  }
}
