/**
 * A temporary store in an empty database of a server, never in the store's database. Keys that other programs write there stay.
 * The bench renews its claim on the database. A later bench clears the database of a killed one.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { Scratch, ScratchOptions } from "../open.ts";
import { CLAIM_MS, keepClaim } from "../ops/scratch_claim.ts";
import { StoreError } from "../port/errors.ts";
import { parseAddress, type RedisAddress } from "./client/address.ts";
import type { Connection } from "./client/connection.ts";
import { connect, readTls } from "./open.ts";
import { RedisError, toStoreError } from "./client/errors.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** The number of the last database by Redis's default configuration. */
const LAST_DATABASE = 15;
/** Maximum number of keys of other programs that a warning names, and the maximum length of a name. */
const MAX_NAMES = 3;
const MAX_NAME_CHARS = 80;

/**
 * Claims an empty database of the server at `url`. Clears it when disposed.
 *
 * @throws {StoreError} if the server has none
 */
export async function redisScratch(url: string, options: ScratchOptions): Promise<Scratch> {
  const { queue, warn, clock = systemClock } = options;
  const address = parseAddress(url);
  const bench = crypto.randomUUID();
  const claim = (database: number, verb: "take" | "keep" | "leave") =>
    within({ ...address, database }, async (connection) => {
      const send = (verb: string, cursor = "") =>
        connection.send(SCRIPTS.claimScratch.command({ verb, bench, queue, ttl: CLAIM_MS, cursor }, "text"));
      const run = () => send(verb);
      if (verb === "keep") return await run();
      if (verb === "take") {
        const reply = await run();
        if (reply !== -1) return reply;
      }
      let cursor = "0";
      do cursor = String(await send("clear", cursor)); while (cursor !== "0");
      return await run();
    });
  for (let database = LAST_DATABASE; database >= 0; database--) {
    if (database === address.database) continue;
    if (await claim(database, "take") !== 1) continue;
    const held = keepClaim(() => claim(database, "keep"), clock);
    return {
      url: withDatabase(url, database),
      async [Symbol.asyncDispose]() {
        await held[Symbol.asyncDispose]();
        const left = await claim(database, "leave").catch((error: Error) => error);
        const problem = problemOf(left as [number, ...string[]] | null | Error);
        if (problem !== undefined) warn(`database ${database} of "${address.shown}" ${problem}`);
      },
    };
  }
  throw new StoreError(
    "wrong",
    `No database for measuring at "${address.shown}": none of 0 to ${LAST_DATABASE} is empty; use another server`,
  );
}

/** Returns the problem with the database after the bench; undefined if it is empty again. */
function problemOf(left: readonly [number, ...string[]] | null | Error): string | undefined {
  if (left instanceof Error) return `could not be emptied; a later bench does that: ${left.message}`;
  if (left === null) return "was claimed by another bench meanwhile, and is left unchanged";
  const [count, ...names] = left;
  if (count === 0) return undefined;
  const few = names.slice(0, MAX_NAMES).map((name) => JSON.stringify(name.slice(0, MAX_NAME_CHARS))).join(", ");
  return `is not empty: another program has written ${count} ${count === 1 ? "key" : "keys"} there meanwhile (${few}${
    count > MAX_NAMES ? ", …" : ""
  }), left unchanged`;
}

/** Runs a step on a separate connection. Returns undefined if the database doesn't exist. */
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

/** Replaces the database of an address. The parameter overrides the path. */
function withDatabase(url: string, database: number): string {
  const [place, query] = url.split("?", 2);
  const parameters = new URLSearchParams(query);
  parameters.set("db", String(database));
  return `${place}?${parameters}`;
}
