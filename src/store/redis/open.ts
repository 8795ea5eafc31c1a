/**
 * Opens a store on Redis: connects, and looks at the server before anything is stored there.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { StoreError } from "../port/errors.ts";
import type { Store } from "../admin/store.ts";
import type { StoreOptions } from "../open.ts";
import { parseAddress, type RedisAddress } from "./client/address.ts";
import { Connection, type DialOptions } from "./client/connection.ts";
import { BLOCK_S, type Context } from "./context.ts";
import { readInfo } from "./client/info.ts";
import { TYPES } from "./keys.ts";
import { ReconnectingClient, type ReconnectingClientOptions } from "./client/reconnecting_client.ts";
import { Mover } from "./move.ts";
import { findMaster } from "./client/sentinel.ts";
import { redisStore } from "./store.ts";

const DEFAULT_WAIT_MS = 10_000;
const DEFAULT_DEAD_MAX_JOBS = 10_000;
const DEFAULT_DEAD_MAX_AGE_MS = 180 * 24 * 3_600_000;
/** A server that owes an answer for so long is taken for dead: no step of ours takes a tenth of it. */
const MIN_SILENCE_MS = 1_000;

/** Subscriptions are silent for hours: this often it is checked that their connection still exists. */
const SUBSCRIPTION_PING_MS = 15_000;

/**
 * Opens the store at a Redis address (its forms stand in `address.ts`).
 *
 * @throws {StoreError} when the address is wrong, the server cannot be reached within `waitMs`, or is not one that we
 * can work with
 */
export async function openRedis(url: string, options: StoreOptions): Promise<Store> {
  const address = parseAddress(url);
  const waitMs = options.waitMs ?? DEFAULT_WAIT_MS;
  const tls = await readTls(address);
  const silenceMs = Math.max(MIN_SILENCE_MS, waitMs / 4);
  const backoff = options.maxBackoffMs === undefined ? {} : { maxBackoffMs: options.maxBackoffMs };
  const links = new Set<ReconnectingClient>();

  function newLink(
    name: string,
    silenceMs: number,
    options: Partial<ReconnectingClientOptions> = {},
  ): ReconnectingClient {
    const dialOptions = { name: `jobs:${name}`, silenceMs, ...(tls ? { tls } : {}) };
    const dial = (signal: AbortSignal) => connect(address, dialOptions, signal);
    const link = new ReconnectingClient({
      dial,
      shown: address.shown,
      waitMs,
      ...backoff,
      onClose: () => links.delete(link),
      ...options,
    });
    links.add(link);
    return link;
  }

  const link = newLink("commands", silenceMs, {
    ...(options.log ? { log: options.log } : {}),
    // A connection that blocks is silent anyway, and would notice much later.
    onLost: () => links.forEach((other) => other === link || other.reset("the connection for commands is lost")),
  });
  const shared: Omit<Context, "mover"> = {
    link,
    subscriptions: newLink("subscriptions", silenceMs, { pingMs: SUBSCRIPTION_PING_MS }),
    blockingLink: (name) => newLink(name, BLOCK_S * 2_000),
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
    await Promise.all([...links].map((link) => link.close()));
  };
  try {
    await inspect(link, options.log);
  } catch (error) {
    await close();
    throw error;
  }
  return redisStore(context, close);
}

/** The milliseconds to add to the server's time: what the clock differs from the system's. */
function offsetOf(clock: StoreOptions["clock"]): () => string {
  if (!clock || clock === systemClock) return () => "0";
  return () => `${Math.round(clock.now() - systemClock.now())}`;
}

/** The certificate that the address names; undefined without TLS. */
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

/** Connects to the server, wherever it is by now. */
export async function connect(
  { server, login, database }: RedisAddress,
  options: Pick<DialOptions, "name" | "silenceMs" | "tls">,
  signal: AbortSignal,
): Promise<Connection> {
  const endpoint = "master" in server ? await findMaster(server, options, signal) : server;
  return await Connection.dial({ ...options, endpoint, login, database }, signal);
}

/** Makes sure that this is a server that we can work with, and a database that nobody else uses otherwise. */
async function inspect(link: ReconnectingClient, log: StoreOptions["log"]): Promise<void> {
  const keys = Object.keys(TYPES);
  const [info, types] = await Promise.all([
    readInfo(link),
    Promise.all(keys.map((key) => link.call(["TYPE", key]) as Promise<string>)),
  ]);
  const version = info.get("redis_version") ?? "";
  if (Number(version.split(".")[0] || 7) < 7) {
    throw new StoreError("wrong", `Redis at "${link.shown}" is too old: 7.0 or later is wanted, it is ${version}`);
  }
  if (info.get("redis_mode") === "cluster") {
    throw new StoreError(
      "wrong",
      `Redis at "${link.shown}" runs in cluster mode, where one step cannot span queues: use a server without it (for more than one server, Sentinel)`,
    );
  }
  for (const [i, key] of keys.entries()) {
    if (types[i] !== "none" && types[i] !== TYPES[key]) {
      throw new StoreError(
        "wrong",
        `Redis at "${link.shown}" has a key "${key}" of type ${types[i]}, wanted ${
          TYPES[key]
        }: some other program uses this database, take another number`,
      );
    }
  }
  const policy = info.get("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") {
    log?.(
      "warn",
      `Redis at "${link.shown}" may throw jobs away when its memory is full: its maxmemory-policy is "${policy}", set it to "noeviction"`,
    );
  }
}
