/**
 * An empty database of a server, for a while: beside the store's own, never that.
 *
 * @module
 */
import { StoreError } from "../errors.ts";
import type { Scratch } from "../open_scratch.ts";
import { parseAddress, type RedisAddress } from "./address.ts";
import type { Connection } from "./connection.ts";
import { connect, readTls } from "./open.ts";
import { Refusal, toStoreError } from "./refusals.ts";

/** Redis has so many databases unless told otherwise. */
const LAST_DATABASE = 15;

/** Takes an empty database, in one step. */
const CLAIM = `
  if redis.call("DBSIZE") > 0 then return 0 end
  redis.call("SET", "jobs:scratch", ARGV[1])
  return 1`;

/** Empties it, in one step, unless somebody else has put something there. */
const LEAVE = `
  if redis.call("GET", "jobs:scratch") ~= ARGV[1] then return 0 end
  for _, queue in ipairs(redis.call("SMEMBERS", "queues")) do
    if queue ~= ARGV[2] then return 0 end
  end
  redis.call("FLUSHDB")
  return 1`;

/**
 * Takes an empty database of the server at `url`; emptied again when disposed.
 *
 * @param queue the only queue that is used there
 * @throws {StoreError} when there is none
 */
export async function redisScratch(url: string, queue: string): Promise<Scratch> {
  const address = parseAddress(url);
  const owner = crypto.randomUUID();
  for (let database = LAST_DATABASE; database >= 0; database--) {
    if (database === address.database) continue;
    const claimed = await within({ ...address, database }, async (connection) => {
      return await connection.send(["EVAL", CLAIM, "0", owner]);
    });
    if (claimed !== 1) continue;
    return {
      url: withDatabase(url, database),
      async [Symbol.asyncDispose]() {
        const left = await within({ ...address, database }, (connection) => {
          return connection.send(["EVAL", LEAVE, "0", owner, queue]);
        });
        if (left === 1) return;
        throw new StoreError(
          "wrong",
          `Database ${database} of "${address.shown}" was not emptied: somebody else began to use it meanwhile`,
        );
      },
    };
  }
  throw new StoreError(
    "wrong",
    `No database for measuring at "${address.shown}": none of 0 to ${LAST_DATABASE} is empty; name another server`,
  );
}

/** One step on a connection of its own; undefined when there is no such database. */
async function within(
  address: RedisAddress,
  use: (connection: Connection) => Promise<unknown>,
): Promise<unknown> {
  const tls = await readTls(address);
  let connection: Connection | undefined;
  try {
    const options = { name: "jobs:scratch", silenceMs: 10_000, ...(tls ? { tls } : {}) };
    connection = await connect(address, options, new AbortController().signal);
    return await use(connection);
  } catch (error) {
    if (error instanceof Refusal && error.message.includes("DB index is out of range")) return undefined;
    throw toStoreError(error, address.shown);
  } finally {
    connection?.destroy();
  }
}

/** The parameter counts before the path. */
function withDatabase(url: string, database: number): string {
  const [place, query] = url.split("?", 2);
  const parameters = new URLSearchParams(query);
  parameters.set("db", String(database));
  return `${place}?${parameters}`;
}
