/**
 * Redis as the store of a simulation: each process has the real adapter and the real client that reconnects; their connections lead
 * through the simulation to one server.
 *
 * @module
 */
import type { Store } from "../../../src/store/admin/store.ts";
import type { Context } from "../../../src/store/redis/context.ts";
import type { ReconnectingClientOptions } from "../../../src/store/redis/client/client_options.ts";
import { ConnectionLost } from "../../../src/store/redis/client/errors.ts";
import { ReconnectingClient } from "../../../src/store/redis/client/reconnecting_client.ts";
import { Mover } from "../../../src/store/redis/move.ts";
import { redisStore } from "../../../src/store/redis/store.ts";
import { FOREIGN } from "../foreign.ts";
import type { Ground, LastState, StoreState } from "../ground.ts";
import type { Link } from "../link.ts";
import type { Machine, World } from "../world.ts";
import { SimulatedLine } from "./line.ts";
import { SimulatedServer } from "./server.ts";

const WAIT_MS = 10_000;
const REPLY_TIMEOUT_MS = 2_500;
/** Of a connection that blocks for 5 s. */
const BLOCKING_TIMEOUT_MS = 10_000;
const REFUSED_MS = 50;

/** See `judge.lua`. */
interface Findings extends StoreState {
  readonly left: readonly string[];
  readonly signals: readonly string[];
  readonly records: readonly string[];
}

export class RedisGround implements Ground {
  readonly name = "redis";
  readonly #server: SimulatedServer;
  readonly #lines = new Set<SimulatedLine>();
  /** The last look of the judges, and after how many changes. */
  #seen: { readonly changes: number; readonly state: StoreState } | undefined;

  private constructor(server: SimulatedServer) {
    this.#server = server;
    server.onMessage = (channel, message) => {
      for (const line of this.#lines) line.deliver(channel, message);
    };
  }

  static async open(): Promise<RedisGround> {
    return new RedisGround(await SimulatedServer.open());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }

  get clockError(): number {
    return this.#server.clockError;
  }

  set clockError(ms: number) {
    this.#server.clockError = ms;
  }

  renew(world: World): Promise<void> {
    this.#lines.clear();
    this.#server.renew(world);
    return Promise.resolve();
  }

  connect(machine: Machine, link: Link): Promise<Store> {
    const { clock } = machine;
    const clients = new Set<ReconnectingClient>();
    const newClient = (replyTimeoutMs: number, options: Partial<ReconnectingClientOptions> = {}) => {
      const client: ReconnectingClient = new ReconnectingClient({
        connect: () => this.#connect(machine, link, replyTimeoutMs),
        ...{ clock, shown: "redis://simulated", waitMs: WAIT_MS, onClose: () => clients.delete(client) },
        ...options,
      });
      clients.add(client);
      return client;
    };
    const client: ReconnectingClient = newClient(REPLY_TIMEOUT_MS, {
      onLost: () => clients.forEach((other) => other === client || other.reset("the connection for commands is lost")),
    });
    const shared: Omit<Context, "mover"> = {
      ...{ client, subscriptions: newClient(REPLY_TIMEOUT_MS, { pingMs: 15_000 }) },
      blockingClient: () => newClient(BLOCKING_TIMEOUT_MS),
      ...{ hasSentinel: false, offset: () => "0", waitMs: WAIT_MS, wire: 7, deadLimits: ["10000", "15552000000"] },
    };
    const close = async () => void await Promise.all([...clients].map((one) => one.close()));
    const store = redisStore({ ...shared, mover: new Mover(shared) }, close);
    const { settle } = store.jobs;
    // Only the client knows which outcomes were lost: it repeats a call whose reply it has not received.
    store.jobs.settle = async (...args) => {
      const result = await settle.apply(store.jobs, args);
      link.observer.executed("jobs.settle", result, args);
      return result;
    };
    return Promise.resolve(store);
  }

  restart(): Promise<void> {
    this.#server.restart();
    for (const line of [...this.#lines]) line.break("restart");
    return Promise.resolve();
  }

  stopReplica(): Promise<void> {
    return Promise.resolve(this.#server.stopReplica());
  }

  failOver(): Promise<void> {
    this.#server.failOver();
    return this.restart();
  }

  async #connect(machine: Machine, link: Link, replyTimeoutMs: number): Promise<SimulatedLine> {
    await machine.clock.sleep(2 * link.travel());
    if (link.isCut) {
      await machine.clock.sleep(REFUSED_MS);
      throw new ConnectionLost("connection refused");
    }
    const line = new SimulatedLine(machine, link, this.#server, {
      replyTimeoutMs,
      onEnd: (ended) => this.#lines.delete(ended),
    });
    this.#lines.add(line);
    return line;
  }

  holder(jid: string): Promise<string | undefined> {
    return Promise.resolve(this.#server.look("holder", jid) || undefined);
  }

  /** Looks at the store, unless it hasn't changed since the last look. */
  look(): Promise<StoreState> {
    const { changes } = this.#server;
    if (this.#seen?.changes !== changes) this.#seen = { changes, state: this.#judge() };
    return Promise.resolve(this.#seen.state);
  }

  lookLast(): Promise<LastState> {
    const { left, signals, records } = this.#judge("all");
    return Promise.resolve({
      left,
      signals: signals.map((kept) => Number(kept.split(" ")[1])),
      records: records.map((text) => JSON.parse(text)),
    });
  }

  #judge(what: "" | "all" = ""): Findings {
    const findings = JSON.parse(this.#server.look("judge", what, FOREIGN)) as Findings;
    // Lua has one kind of empty table.
    const lists = Object.entries(findings).map(([name, value]) => [name, Array.isArray(value) ? value : []]);
    return Object.fromEntries(lists) as Findings;
  }
}
