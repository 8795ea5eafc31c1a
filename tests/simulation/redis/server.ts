/**
 * A Redis server under the time of a simulation: a real server on a private socket that performs one command at a time.
 *
 * Scripts run with a prelude (`virtual_time.lua`) that replaces the time, expiry and random choices. Blocking commands and
 * subscriptions are kept here, so that the world decides when a process learns of an event.
 *
 * @module
 */
import type { Arg } from "../../../src/store/redis/client/encode.ts";
import { RedisError } from "../../../src/store/redis/client/errors.ts";
import { SCRIPTS } from "../../../src/store/redis/client/scripts.ts";
import { until } from "../../support/eventually.ts";
import { type RedisServer, startRedis } from "../../support/redis.ts";
import type { World } from "../world.ts";
import judge from "./judge.lua" with { type: "text" };
import { Wire } from "./wire.ts";
import virtualTime from "./virtual_time.lua" with { type: "text" };

/** Hashes keep the order of insertion, whatever their size: a hash table's order differs from server to server. */
const CONFIG = {
  ...{ "hash-max-listpack-entries": "1000000", "hash-max-listpack-value": "1000000" },
  ...{ "list-max-listpack-size": "1000000", "lua-time-limit": "0" },
};

/** Deletes the keys whose time has passed. */
const EXPIRE = `for _, key in ipairs(redis.call('ZRANGE', 'sim:expiry', '-inf', ARGV[1], 'BYSCORE')) do
  local at = redis.call('PEXPIRETIME', key)
  if at >= 0 and at - 1e13 <= tonumber(ARGV[1]) then redis.call('DEL', key) end
end
redis.call('ZREMRANGEBYSCORE', 'sim:expiry', '-inf', ARGV[1])`;
/** Returns the messages of a command, how many elements the awaited lists have, and when to look for keys that expire. */
const AFTER = `local messages = redis.call('LRANGE', 'sim:messages', 0, -1)
if #messages > 0 then redis.call('DEL', 'sim:messages') end
local full = {}
for i, key in ipairs(ARGV) do full[i] = redis.call('LLEN', key) end
return { messages, full, redis.call('ZRANGE', 'sim:expiry', 0, 0, 'WITHSCORES')[2] }`;
/** Copies everything to the other database. */
const COPY = `for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', '1', 'REPLACE') end`;
/** Returns the worker that has a job. */
const HOLDER = `for _, key in ipairs(redis.call('KEYS', 'jobs:leases:*')) do
  for _, payload in ipairs(redis.call('HVALS', key)) do
    if string.find(payload, ARGV[1], 1, true) and cjson.decode(payload).jid == ARGV[1] then return string.sub(key, 13) end
  end
end
return ''`;
/** Performs a command that depends on the time. */
const COMMAND = "return redis.call(unpack(ARGV))";
const OWN = { expire: EXPIRE, after: AFTER, command: `${virtualTime}\n${COMMAND}`, holder: HOLDER, copy: COPY, judge };
/** Commands that change nothing. */
const READS = new Set([
  "GET",
  "HGET",
  "HGETALL",
  "HKEYS",
  "HMGET",
  "LLEN",
  "LRANGE",
  "ZCARD",
  "ZRANGE",
  "ZSCAN",
  "ZSCORE",
]);
const TIMED = new Set(["SET", "TIME", "PEXPIRE", "PUBLISH", "XADD", "SCAN", "SMEMBERS"]);

/** A script with the prelude, as the server has it. */
interface LoadedScript {
  readonly name: string;
  readonly text: string;
  readonly sha: string;
  readonly isReading: boolean;
}

/** A command that waits until a list has an element. */
export interface Blocked {
  readonly args: readonly Arg[];
  readonly reply: (value: unknown) => void;
  /** Whether its process still has the connection. */
  readonly isOpen: () => boolean;
}

export class SimulatedServer implements AsyncDisposable {
  /** By how much its clock is wrong. */
  clockError = 0;
  /** Called for each message. */
  onMessage: (channel: string, message: string) => void = () => {};
  world!: World;
  /** How many commands it has executed that may have changed something. */
  changes = 0;
  /** How often it was started. A connection ends with the server that it was opened to. */
  starts = 0;
  readonly #server: RedisServer;
  readonly #wire: Wire;
  /** When the next key expires. */
  #expiresAt = Infinity;
  /** The scripts of the product by their digest, and by their text. */
  readonly #scripts: ReadonlyMap<string, LoadedScript>;
  readonly #texts: ReadonlyMap<string, LoadedScript>;
  readonly #own: Readonly<Record<keyof typeof OWN, string>>;
  /** The digests of those that were loaded since it started. */
  readonly #loaded = new Set<string>();
  readonly #blocked = new Set<Blocked>();

  private constructor(
    server: RedisServer,
    wire: Wire,
    scripts: ReadonlyMap<string, LoadedScript>,
    own: Readonly<Record<keyof typeof OWN, string>>,
  ) {
    this.#server = server;
    this.#wire = wire;
    this.#scripts = scripts;
    this.#texts = new Map(scripts.values().map((script) => [script.text, script]));
    this.#own = own;
  }

  static async open(): Promise<SimulatedServer> {
    const server = await startRedis({ config: { ...CONFIG, unixsocket: "redis.sock" } });
    const path = `${server.dir}/redis.sock`;
    // It listens there after its port.
    await until(
      () => Deno.connect({ transport: "unix", path }).then((one) => one.close() ?? true, () => false),
      "Redis listens",
    );
    const wire = Wire.open(path);
    const load = (text: string) => valueOf(wire.perform([["SCRIPT", "LOAD", text]])[0]) as string;
    const scripts = new Map<string, LoadedScript>();
    for (const { name, text, sha } of Object.values(SCRIPTS)) {
      const [first, ...rest] = text.split("\n");
      const isReading = first!.includes("no-writes");
      scripts.set(sha, { name, text, sha: load([first, virtualTime, ...rest].join("\n")), isReading });
    }
    const own = {} as Record<keyof typeof OWN, string>;
    for (const [name, text] of Object.entries(OWN)) own[name as keyof typeof OWN] = load(text);
    return new SimulatedServer(server, wire, scripts, own);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#wire[Symbol.dispose]();
    await this.#server[Symbol.asyncDispose]();
  }

  /** Empties it. */
  renew(world: World): void {
    this.world = world;
    this.clockError = 0;
    this.restart();
    this.changes++;
    this.#expiresAt = Infinity;
    this.#wire.perform([["FLUSHALL"]]);
  }

  /** Starts it again, with its data. Connections are the caller's to break. */
  restart(): void {
    this.starts++;
    this.#blocked.clear();
    this.#loaded.clear();
  }

  /** Its replica receives nothing from now on. */
  stopReplica(): void {
    this.look("copy");
  }

  /** Its replica takes its place. */
  failOver(): void {
    this.changes++;
    this.#expiresAt = -Infinity;
    this.#wire.perform([["SWAPDB", "0", "1"]]);
    this.restart();
  }

  /** Performs a command. */
  execute(args: readonly Arg[], { bytes = false }: { readonly bytes?: boolean } = {}): unknown {
    const { expire, after } = this.#own;
    const now = Math.round(this.world.now + this.clockError);
    const real = this.#real(args);
    if (now >= this.#expiresAt) {
      this.changes++;
      this.#wire.perform([["EVALSHA", expire, "0", `${now}`]]);
    }
    if (READS.has(`${args[0]}`)) return valueOf(this.#wire.perform([real], bytes ? 0 : -1)[0]);
    const commands = [["SET", "sim:now", `${now}`], real];
    if (this.#scripts.get(`${args[1]}`)?.isReading) return valueOf(this.#wire.perform(commands, bytes ? 1 : -1)[1]);
    this.changes++;
    const keys = [...new Set([...this.#blocked].map(({ args }) => `${args[1]}`))];
    commands.push(["EVALSHA", after, "0", ...keys]);
    const [, reply, rest] = this.#wire.perform(commands, bytes ? 1 : -1);
    const [messages, sizes, expiresAt = Infinity] = valueOf(rest) as [string[], number[], string | undefined];
    this.#expiresAt = Number(expiresAt);
    for (let i = 0; i < messages.length; i += 2) this.onMessage(messages[i]!, messages[i + 1]!);
    const full = new Set(keys.filter((_, i) => sizes[i]! > 0));
    for (const blocked of [...this.#blocked]) if (full.has(`${blocked.args[1]}`)) this.#serve(blocked);
    return valueOf(reply);
  }

  /** Runs a script of the judges, outside of the simulated time. */
  look(script: "judge" | "holder" | "copy", ...args: readonly string[]): string {
    return valueOf(this.#wire.perform([["EVALSHA", this.#own[script], "0", ...args]])[0]) as string;
  }

  /** The name of a script. */
  nameOf(shaOrText: string): string {
    return (this.#scripts.get(shaOrText) ?? this.#texts.get(shaOrText))!.name;
  }

  /** Performs a blocking command: replies now, or when its list has an element. */
  block(blocked: Blocked): void {
    this.#blocked.add(blocked);
    this.#serve(blocked);
  }

  /** Ends the wait of a blocking command without an element. */
  unblock(blocked: Blocked): void {
    this.#blocked.delete(blocked);
  }

  #serve(blocked: Blocked): void {
    if (!blocked.isOpen()) return void this.#blocked.delete(blocked);
    const [name, ...keys] = blocked.args as readonly string[];
    const value = name === "BLMOVE" ? this.#pop(["LMOVE", ...keys.slice(0, 4)]) : this.#popFirst(keys.slice(0, -1));
    if (value === null || !this.#blocked.delete(blocked)) return;
    blocked.reply(value);
  }

  #popFirst(keys: readonly string[]): [string, string] | null {
    for (const key of keys) {
      const value = this.#pop(["RPOP", key]);
      if (value !== null) return [key, value];
    }
    return null;
  }

  #pop(command: readonly string[]): string | null {
    this.changes++;
    return valueOf(this.#wire.perform([command])[0]) as string | null;
  }

  /** Returns the command as the server performs it. */
  #real(args: readonly Arg[]): readonly Arg[] {
    const [name, ...rest] = args;
    if (name === "EVALSHA") {
      const script = this.#scripts.get(`${rest[0]}`);
      if (script === undefined || !this.#loaded.has(script.sha)) throw new RedisError("NOSCRIPT No matching script");
      return [name, script.sha, ...rest.slice(1)];
    }
    if (name === "EVAL") {
      const { sha } = this.#texts.get(`${rest[0]}`)!;
      this.#loaded.add(sha);
      return ["EVALSHA", sha, ...rest.slice(1)];
    }
    return TIMED.has(`${name}`) ? ["EVALSHA", this.#own.command, "0", ...args] : args;
  }
}

/** @throws {RedisError} if the reply is one */
function valueOf(reply: unknown): unknown {
  if (reply instanceof RedisError) throw reply;
  return reply;
}
