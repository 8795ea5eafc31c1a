/**
 * A TCP proxy that simulates a bad network: it cuts connections, delays data, closes one direction, drops all data,
 * or rejects new connections. Uses `node:net`, which can cut a connection that it is reading from.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** The treatment of incoming bytes. */
export type Weather =
  /** Bytes are forwarded. */
  | "fair"
  /** Bytes wait in both directions until the weather changes, and are then forwarded in order, as by TCP after a cut. */
  | "held"
  /** Bytes are dropped in both directions. The connections stay open. */
  | "blackhole"
  /** New connections are closed at once. */
  | "closed";

/** A proxy in front of a server on this machine. */
export class TcpProxy implements AsyncDisposable {
  /** Every piece of data is delayed by this many milliseconds, each way. Pieces stay in order when the delay changes. */
  delayMs = 0;
  /** New connections are closed at once while this many are open. */
  maxConnections = Infinity;
  /** A new connection is cut after this many bytes of replies, within a reply. */
  bytesToLive: () => number = () => Infinity;
  readonly #server: Server;
  /** The sockets of clients, and the number of reply bytes that each may still receive. */
  readonly #clients = new Map<Socket, number>();
  readonly #frozen = new WeakSet<Socket>();
  /** Clients that receive nothing. */
  readonly #deaf = new WeakSet<Socket>();
  /** The other ends of the clients' connections. */
  readonly #servers = new Map<Socket, Socket>();
  /** Until when the bytes of clients wait. */
  readonly #held = new WeakMap<Socket, Promise<void>>();
  readonly #timers = new Map<ReturnType<typeof setTimeout>, () => void>();
  /** Sockets with pending bytes, and the promise of their write. */
  readonly #queues = new Map<Socket, Promise<void>>();
  #weather: Weather = "fair";
  #release = Promise.withResolvers<void>();
  #accepted = 0;
  #trips = 0;
  #cutAtTrip = 0;
  #bytesUntilHeld = Infinity;

  private constructor(server: Server, target: () => number) {
    this.#server = server;
    server.on("connection", (client) => {
      this.#accepted++;
      if (this.weather === "closed" || this.#clients.size >= this.maxConnections) client.destroy();
      else this.#join(client, connect(target(), "127.0.0.1"));
    });
  }

  /** @param target the port of the server, or a function that returns it for each new connection */
  static async start(target: number | (() => number)): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    const proxy = new TcpProxy(server, typeof target === "number" ? () => target : target);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  /** The treatment of incoming bytes. `fair` at first. */
  get weather(): Weather {
    return this.#weather;
  }

  set weather(weather: Weather) {
    this.#weather = weather;
    if (weather === "held") return;
    this.#release.resolve();
    this.#release = Promise.withResolvers<void>();
  }

  /** The port of the proxy. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The number of accepted connections. */
  get accepted(): number {
    return this.#accepted;
  }

  /** The number of times that a client has sent data first, or after it had received some: the round trips of its requests. */
  get trips(): number {
    return this.#trips;
  }

  /** Cuts all connections. */
  cut(): void {
    for (const client of this.#clients.keys()) client.destroy();
  }

  /** Drops all data on the open connections, in both directions. They stay open. */
  freeze(): void {
    for (const client of this.#clients.keys()) this.#frozen.add(client);
  }

  /** Drops all replies on the open connections. They stay open: a client that stands still sends no more than what it has sent. */
  dropReplies(): void {
    for (const client of this.#clients.keys()) this.#deaf.add(client);
  }

  /**
   * Holds what the clients send on the open connections from now on, also beyond their end: as a network does whose lost packets
   * arrive much later. New connections are not affected.
   *
   * @returns forwards it; resolves when the server's ends are closed
   */
  hold(): () => Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const closed: Promise<unknown>[] = [];
    for (const [client, server] of this.#servers) {
      closed.push(once(server, "close"));
      this.#held.set(client, promise);
    }
    return async () => {
      resolve();
      await Promise.all(closed);
    };
  }

  /** Cuts every open connection within its next reply, after this many bytes. */
  cutNextAnswer(bytes = 0): void {
    for (const client of this.#clients.keys()) this.#clients.set(client, bytes);
  }

  /** Holds all bytes, as the weather `held`, when the clients have received this many bytes from now on. */
  holdAfter(bytes: number): void {
    this.#bytesUntilHeld = bytes;
  }

  /** Forwards the n-th request from now, and cuts its connection instead of the reply. */
  cutReplyOf(n: number): void {
    this.#cutAtTrip = this.#trips + n;
  }

  /** Closes the direction to the clients, and still forwards the data that they send. */
  halfClose(): void {
    for (const client of this.#clients.keys()) client.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.weather = "fair";
    for (const [timer, resolve] of this.#timers) {
      clearTimeout(timer);
      resolve();
    }
    await Promise.all(this.#queues.values());
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(client: Socket, server: Socket): void {
    server.setNoDelay(true);
    this.#clients.set(client, this.bytesToLive());
    this.#servers.set(client, server);
    for (const [socket, other] of [[client, server], [server, client]] as const) {
      socket.on("error", () => socket.destroy());
      socket.on("end", () => this.#after(other, () => other.end()));
      socket.on("close", () => {
        if (socket === client) this.#clients.delete(client);
        this.#servers.delete(client);
        this.#after(other, () => other.destroySoon());
      });
    }
    let isTurn = true;
    client.on("data", (bytes) => {
      if (isTurn && ++this.#trips === this.#cutAtTrip) this.#clients.set(client, 0);
      isTurn = false;
      const until = this.#held.get(client);
      if (until) return this.#enqueue(server, async () => (await until, void server.write(bytes)));
      if (!this.#frozen.has(client)) this.#pass(server, bytes);
    });
    server.on("data", (bytes) => {
      isTurn = true;
      this.#bytesUntilHeld -= bytes.length;
      if (this.#bytesUntilHeld <= 0) {
        this.#bytesUntilHeld = Infinity;
        this.weather = "held";
      }
      if (this.#frozen.has(client) || this.#deaf.has(client)) return;
      const left = (this.#clients.get(client) ?? 0) - bytes.length;
      this.#clients.set(client, left);
      if (left >= 0) return this.#pass(client, bytes);
      client.write(bytes.subarray(0, left + bytes.length));
      client.destroy();
      server.destroy();
    });
  }

  #pass(to: Socket, bytes: Buffer): void {
    if (this.#weather === "blackhole") return;
    const write = () => void (to.writableEnded || to.destroyed || to.write(bytes));
    if (this.delayMs === 0 && this.#weather !== "held") return this.#after(to, write);
    const at = performance.now() + this.delayMs;
    this.#enqueue(to, async () => {
      await this.#sleep(at - performance.now());
      while (this.#weather === "held") await this.#release.promise;
      write();
    });
  }

  /** Calls a function when all pending bytes of a socket have been written; at once if it has none. */
  #after(to: Socket, act: () => void): void {
    if (this.#queues.has(to)) this.#enqueue(to, act);
    else act();
  }

  #enqueue(to: Socket, act: () => void | Promise<void>): void {
    const queue: Promise<void> = (this.#queues.get(to) ?? Promise.resolve()).then(act).finally(() => {
      if (this.#queues.get(to) === queue) this.#queues.delete(to);
    });
    this.#queues.set(to, queue);
  }

  #sleep(ms: number): Promise<void> {
    if (ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        resolve();
      }, ms);
      this.#timers.set(timer, resolve);
    });
  }
}
