/**
 * A connection of a simulated process to the simulated Redis server. Commands and replies are under way for a while; the connection
 * breaks when one of them is lost, and when a reply takes too long.
 *
 * @module
 */
import type { Arg } from "../../../src/store/redis/client/encode.ts";
import { ConnectionLost, RedisError } from "../../../src/store/redis/client/errors.ts";
import type { Line } from "../../../src/store/redis/client/client_options.ts";
import type { Link } from "../link.ts";
import type { Machine } from "../world.ts";
import type { Blocked, SimulatedServer } from "./server.ts";

const BLOCKING = new Set(["BLMOVE", "BRPOP"]);

interface Pending {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class SimulatedLine implements Line {
  readonly lost: Promise<Error>;
  readonly #machine: Machine;
  readonly #link: Link;
  readonly #server: SimulatedServer;
  /** Which start of the server it leads to. A call that arrives after that one's end reaches no other. */
  readonly #start: number;
  readonly #replyTimeoutMs: number;
  readonly #pending = new Set<Pending>();
  readonly #channels = new Map<string, (message: string) => void>();
  readonly #onEnd: (line: SimulatedLine) => void;
  #resolveLost: (why: Error) => void = () => {};
  #isLost = false;
  /** Its blocking command; a connection has one at a time. */
  #blocked: Blocked | undefined;
  /** Commands arrive in the order in which they were sent, and so do replies. */
  #arrives = 0;
  #replies = 0;

  constructor(
    machine: Machine,
    link: Link,
    server: SimulatedServer,
    options: { readonly replyTimeoutMs: number; readonly onEnd: (line: SimulatedLine) => void },
  ) {
    this.#machine = machine;
    this.#link = link;
    this.#server = server;
    this.#start = server.starts;
    this.#replyTimeoutMs = options.replyTimeoutMs;
    this.#onEnd = options.onEnd;
    this.lost = new Promise((resolve) => this.#resolveLost = resolve);
  }

  send(args: readonly Arg[], how: { readonly bytes?: boolean } = {}): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.#isLost) return Promise.reject(new ConnectionLost("closed"));
    const pending: Pending = { resolve, reject };
    this.#pending.add(pending);
    const { world } = this.#machine;
    const isScript = args[0] === "EVALSHA" || args[0] === "EVAL";
    const label = isScript ? this.#server.nameOf(`${args[1]}`) : `${args[0]} ${args[1] ?? ""}`;
    const fault = this.#link.faultOf(label);
    const lateMs = fault === "late" ? this.#link.lateness() : 0;
    this.#arrives = Math.max(this.#arrives, world.time + this.#link.travel() + lateMs);
    world.arrivedBy = Math.max(world.arrivedBy, this.#arrives);
    world.at(this.#arrives, undefined, () => {
      if (this.#start !== this.#server.starts) {
        return world.note(`${this.#machine.name} ${label} for a server that has ended`);
      }
      if (this.#link.isCut || fault === "lost before") return this.break(`${label} lost before`);
      const reply = (settle: () => void) => this.#reply(pending, settle);
      if (BLOCKING.has(`${args[0]}`)) return this.#block(args, (value) => reply(() => resolve(value)));
      const outcome = this.#execute(args, how);
      if (label === "rescue" && outcome.error === undefined) {
        const [rescued, ...offline] = outcome.value as [number, ...string[]];
        this.#link.observer.executed("jobs.rescue", { rescued, offline }, []);
      }
      if (label === "take" && outcome.error === undefined) this.#noteTaken(outcome.value as unknown[]);
      world.note(`${this.#machine.name} ${label}${outcome.error ? ` ! ${outcome.error.message}` : ""}`);
      if (this.#link.isCut || fault === "lost after") return this.break(`${label} lost after`);
      reply(() => outcome.error ? reject(outcome.error) : resolve(outcome.value));
    });
    world.at(world.time + 2 * this.#replyTimeoutMs, this.#machine, () => {
      if (this.#pending.has(pending)) this.destroy(new Error("no reply"));
    });
    return promise;
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<unknown> {
    this.#channels.set(channel, listener);
    return await this.send(["PING"]);
  }

  /** Delivers a message, if it listens. */
  deliver(channel: string, message: string): void {
    const listener = this.#channels.get(channel);
    if (listener === undefined || this.#link.isCut) return;
    const { world } = this.#machine;
    this.#replies = Math.max(this.#replies, world.time + this.#link.travel());
    world.at(this.#replies, this.#machine, () => {
      if (!this.#isLost) listener(message);
    });
  }

  destroy(why = new Error("closed")): void {
    if (this.#isLost) return;
    this.#isLost = true;
    if (this.#blocked) this.#server.unblock(this.#blocked);
    this.#onEnd(this);
    this.#resolveLost(why);
    for (const { reject } of this.#pending) reject(new ConnectionLost(why.message, { cause: why, wasSent: true }));
    this.#pending.clear();
  }

  /** The server, or something between, ends the connection. The process learns it later. */
  break(why: string): void {
    const { world } = this.#machine;
    world.note(`${this.#machine.name} ${why}`);
    if (this.#blocked) this.#server.unblock(this.#blocked);
    world.at(world.time + this.#link.travel(), this.#machine, () => this.destroy(new Error("connection lost")));
  }

  #execute(args: readonly Arg[], how: { readonly bytes?: boolean }): { value?: unknown; error?: Error } {
    try {
      return { value: this.#server.execute(args, how) };
    } catch (error) {
      if (!(error instanceof RedisError)) throw error;
      return { error };
    }
  }

  /** Reports the jobs of a reply: after three other parts, per queue its payloads and its name. */
  #noteTaken(reply: readonly unknown[]): void {
    for (let i = 3; i < reply.length; i += 2) {
      this.#link.observer.taken(`${reply[i + 1]}`, (reply[i] as readonly unknown[]).length);
    }
  }

  #reply(pending: Pending, settle: () => void): void {
    const { world } = this.#machine;
    this.#replies = Math.max(this.#replies, world.time + this.#link.travel());
    world.at(this.#replies, this.#machine, () => {
      if (this.#pending.delete(pending)) settle();
    });
  }

  /** Performs a blocking command. A process that is dead has no connection: an element would be lost. */
  #block(args: readonly Arg[], reply: (value: unknown) => void): void {
    const { world } = this.#machine;
    const blocked: Blocked = this.#blocked = {
      args,
      isOpen: () => !this.#isLost && this.#machine.state !== "dead",
      reply: (value) => {
        cancel();
        reply(value);
      },
    };
    const cancel = world.at(world.time + Number(args.at(-1)) * 1_000, undefined, () => {
      this.#server.unblock(blocked);
      reply(null);
    });
    this.#server.block(blocked);
  }
}
