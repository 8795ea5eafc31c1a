/**
 * An empty database of a server, for a while: beside the store's own, never that. What others put there meanwhile stays.
 * Whoever uses it says so again and again: what a killed bench has left there is cleared away by a later one.
 *
 * @module
 */
import { type Clock, systemClock } from "../../clock.ts";
import type { Scratch, ScratchOptions } from "../open_scratch.ts";
import { StoreError } from "../port/errors.ts";
import { parseAddress, type RedisAddress } from "./client/address.ts";
import type { Connection } from "./client/connection.ts";
import scratch from "./lua/scratch.lua" with { type: "text" };
import { connect, readTls } from "./open.ts";
import { RedisError, toStoreError } from "./client/errors.ts";

/** Redis has so many databases unless told otherwise. */
const LAST_DATABASE = 15;
/** It counts as used for so long after it was last said. */
const TTL_MS = 60_000;
const KEEP_MS = TTL_MS / 3;
/** So many of the keys that others have put there are named. */
const MAX_NAMES = 3;
const MAX_NAME = 80;

/**
 * Takes an empty database of the server at `url`; what was put there through it is gone when it is disposed.
 *
 * @throws {StoreError} when there is none
 */
export async function redisScratch(url: string, options: ScratchOptions): Promise<Scratch> {
  const { queue, say, clock = systemClock } = options;
  const address = parseAddress(url);
  const owner = crypto.randomUUID();
  const ask = (database: number, verb: "take" | "keep" | "leave") =>
    within({ ...address, database }, async (connection) => {
      const send = (...args: string[]) => connection.send(["EVAL", scratch, "0", ...args]);
      const run = () => send(verb, owner, queue, `${TTL_MS}`);
      if (verb === "keep") return await run();
      if (verb === "take") {
        const answer = await run();
        if (answer !== -1) return answer;
      }
      let cursor = "0";
      do cursor = String(await send("clear", owner, queue, `${TTL_MS}`, cursor)); while (cursor !== "0");
      return await run();
    });
  for (let database = LAST_DATABASE; database >= 0; database--) {
    if (database === address.database) continue;
    if (await ask(database, "take") !== 1) continue;
    const over = new AbortController();
    const keeping = keep(() => ask(database, "keep"), clock, over.signal);
    return {
      url: withDatabase(url, database),
      async [Symbol.asyncDispose]() {
        over.abort();
        await keeping;
        const left = await ask(database, "leave").catch((error: Error) => error);
        const trouble = troubleOf(left as [number, ...string[]] | null | Error);
        if (trouble !== undefined) say(`database ${database} of "${address.shown}" ${trouble}`);
      },
    };
  }
  throw new StoreError(
    "wrong",
    `No database for measuring at "${address.shown}": none of 0 to ${LAST_DATABASE} is empty; name another server`,
  );
}

/** Says again and again that it is used. What cannot be said now is said the next time. */
async function keep(say: () => Promise<unknown>, clock: Clock, over: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(KEEP_MS, over);
    if (over.aborted) return;
    await say().catch(() => {});
  }
}

/** What there is to say of how it was left; undefined when it is empty again. */
function troubleOf(left: readonly [number, ...string[]] | null | Error): string | undefined {
  if (left instanceof Error) return `could not be emptied; a later bench does that: ${left.message}`;
  if (left === null) return "was taken by somebody else meanwhile, and is left as it is";
  const [count, ...names] = left;
  if (count === 0) return undefined;
  const few = names.slice(0, MAX_NAMES).map((name) => JSON.stringify(name.slice(0, MAX_NAME))).join(", ");
  return `is not empty: somebody else has put ${count} ${count === 1 ? "key" : "keys"} there meanwhile (${few}${
    count > MAX_NAMES ? ", …" : ""
  }), left as ${count === 1 ? "it is" : "they are"}`;
}

/** One step on a connection of its own; undefined when there is no such database. */
async function within(
  address: RedisAddress,
  use: (connection: Connection) => Promise<unknown>,
): Promise<unknown> {
  const tls = await readTls(address);
  let connection: Connection | undefined;
  try {
    const options = { name: "jobs:scratch", replyTimeoutMs: 10_000, ...(tls ? { tls } : {}) };
    connection = await connect(address, options, new AbortController().signal);
    return await use(connection);
  } catch (error) {
    if (error instanceof RedisError && error.message.includes("DB index is out of range")) return undefined;
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
