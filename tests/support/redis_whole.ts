/**
 * Runs a script against keys that another program has changed, and compares all keys before and after it.
 *
 * @module
 */
import { Connection } from "../../src/store/redis/client/connection.ts";
import type { Script } from "../../src/store/redis/client/scripts.ts";

/** A call of a script. */
export interface Call {
  /** The commands that make its keys. */
  readonly given: readonly (readonly string[])[];
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Texts that are in some key before the call, and in some key after it, also if it fails. */
  readonly kept?: readonly string[];
  /** Keys that a failed call may have changed: each of its items is whole, and the client sends the others again. */
  readonly separate?: readonly string[];
}

/** A call that failed after it had written, or that lost a text. */
export interface Broken {
  /** The change of another program. */
  readonly change: string;
  readonly error: string;
  /** The keys that differ, or the text that was lost. */
  readonly differs: readonly string[];
}

/** Notes the keys of each command that a script runs. Commands of other forms have none. */
const RECORDER = `
local real = redis
local redis = setmetatable({}, { __index = real })
local function note(name, ...)
  if name == 'TIME' or name == 'PUBLISH' or name == 'PUBSUB' or name == 'SCAN' or name == 'DBSIZE' then return end
  local hasMany = name == 'DEL' or name == 'UNLINK' or name == 'EXISTS' or name == 'MGET' or name == 'SUNION'
  for i, key in ipairs({ ... }) do
    if i == 1 or hasMany then real.call('SADD', 'touched', key) end
  end
end
redis.call = function(...) note(...) return real.call(...) end
redis.pcall = function(...) note(...) return real.pcall(...) end
`;

/** Returns a digest of each key, and which of the texts in ARGV are in some key. */
const SNAPSHOT = `#!lua
local call = redis.call
local result, found = {}, {}
local READ = {
  string = function(key) return { call('GET', key) } end,
  list = function(key) return call('LRANGE', key, 0, -1) end,
  zset = function(key) return call('ZRANGE', key, 0, -1, 'WITHSCORES') end,
  stream = function(key) return { cjson.encode(call('XRANGE', key, '-', '+')) } end,
  set = function(key)
    local members = call('SMEMBERS', key)
    table.sort(members)
    return members
  end,
  hash = function(key)
    local flat, lines = call('HGETALL', key), {}
    for i = 1, #flat, 2 do lines[#lines + 1] = flat[i] .. '=' .. flat[i + 1] end
    table.sort(lines)
    return lines
  end,
}
for _, key in ipairs(call('KEYS', '*')) do
  local kind = call('TYPE', key).ok
  local text = kind .. '\\n' .. table.concat(READ[kind](key), '\\n')
  result[#result + 1] = key
  result[#result + 1] = text
  for i, wanted in ipairs(ARGV) do
    if string.find(text, wanted, 1, true) then found[i] = true end
  end
end
local texts = {}
for i in ipairs(ARGV) do texts[i] = found[i] and '1' or '0' end
return { table.concat(texts), unpack(result) }
`;

/** Keys of each type with a text that nothing can read. */
const FOREIGN: Readonly<Record<string, (key: string) => string[]>> = {
  string: (key) => ["SET", key, "x"],
  list: (key) => ["RPUSH", key, "x", "y z"],
  hash: (key) => ["HSET", key, "x", "y", "v", "w"],
  "sorted set": (key) => ["ZADD", key, "1", "x", "2", "y z"],
  set: (key) => ["SADD", key, "x", "y z"],
};

/** Connects to a server. */
export async function connectTo(port: number): Promise<Connection> {
  const options = {
    endpoint: { host: "127.0.0.1", port },
    login: {},
    database: 0,
    name: "whole",
    replyTimeoutMs: 30_000,
  };
  return await Connection.connect(options, new AbortController().signal);
}

/** Runs a call once as it is, then once per change that another program may have made to a key that it uses. */
export async function breakEach(connection: Connection, script: Script, call: Call): Promise<Broken[]> {
  const { given, keys, args, kept = [], separate = [] } = call;
  const begin = () => [["FLUSHALL"], ...given].map((command) => connection.send(command));
  await Promise.all(begin());
  const recorded = script.text.replace("\n", `\n${RECORDER}`);
  try {
    await connection.send(["EVAL", recorded, `${keys.length}`, ...keys, ...args]);
  } catch (error) {
    return [{ change: "nothing", error: (error as Error).message, differs: args }];
  }
  const touched = (await connection.send(["SMEMBERS", "touched"]) as string[]).sort();
  await Promise.all(begin());
  const changes: [string, string[][]][] = [["nothing", []]];
  for (const key of touched) {
    for (const [type, make] of Object.entries(FOREIGN)) changes.push([`${key}: a ${type}`, [["DEL", key], make(key)]]);
    const fields = await connection.send(["HKEYS", key]).catch(() => []) as string[];
    for (const field of fields) {
      changes.push([`${key}: without ${field}`, [["HDEL", key, field]]]);
      changes.push([`${key}: x in ${field}`, [["HSET", key, field, "x"]]]);
    }
  }
  await connection.send(["SCRIPT", "LOAD", script.text]);
  const sha = await connection.send(["SCRIPT", "LOAD", SNAPSHOT]) as string;
  const snapshot = () => connection.send(["EVALSHA", sha, "0", ...kept]) as Promise<string[]>;
  const trials = changes.map(async ([change, commands]): Promise<Broken | undefined> => {
    const [, , before, error, after] = await Promise.all([
      Promise.all(begin()),
      Promise.all(commands.map((command) => connection.send(command))),
      snapshot(),
      connection.send(["EVALSHA", script.sha, `${keys.length}`, ...keys, ...args])
        .then(() => undefined, (error: Error) => error.message),
      snapshot(),
    ]);
    const lost = kept.filter((_, i) => before[0]![i] === "1" && after[0]![i] === "0");
    if (lost.length > 0) return { change, error: error ?? "", differs: lost };
    if (error === undefined) return undefined;
    if (change === "nothing") return { change, error, differs: [] };
    const [old, now] = [mapOf(before), mapOf(after)];
    const all = new Set([...old.keys(), ...now.keys()]);
    const differs = [...all].filter((key) => old.get(key) !== now.get(key) && !separate.includes(key));
    return differs.length === 0 ? undefined : { change, error, differs };
  });
  return (await Promise.all(trials)).filter((one) => one !== undefined);
}

function mapOf([, ...flat]: readonly string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (let i = 0; i < flat.length; i += 2) map.set(flat[i]!, flat[i + 1]!);
  return map;
}
