/**
 * A TCP proxy that stands in for a bad network: it cuts connections, delays, closes one direction, swallows everything,
 * or turns new connections away. On `node:net`, which can cut a connection that it is reading from.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** What happens to bytes that come in. */
export type Weather =
  /** They go on. */
  | "fair"
  /** They are swallowed, in both directions; the connections stay open. */
  | "blackhole"
  /** New connections are closed at once. */
  | "closed";

/** A proxy in front of a server on this machine. */
export class TcpProxy implements AsyncDisposable {
  weather: Weather = "fair";
  /** Every piece of data is held for so long, each way. */
  delayMs = 0;
  /** How many bytes of answers pass on each new connection; then it is cut, in the middle of an answer. */
  bytesToLive: () => number = () => Infinity;
  readonly #server: Server;
  /** Clients' sockets, and how many bytes of answers may still pass to each. */
  readonly #clients = new Map<Socket, number>();
  readonly #frozen = new WeakSet<Socket>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #accepted = 0;

  private constructor(server: Server, target: () => number) {
    this.#server = server;
    server.on("connection", (client) => {
      this.#accepted++;
      if (this.weather === "closed") client.destroy();
      else this.#join(client, connect(target(), "127.0.0.1"));
    });
  }

  /** @param target the server's port, or what tells it for each new connection */
  static async start(target: number | (() => number)): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    const proxy = new TcpProxy(server, typeof target === "number" ? () => target : target);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  /** Where it listens. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections taken so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Cuts all connections. */
  cut(): void {
    for (const client of this.#clients.keys()) client.destroy();
  }

  /** Swallows all that is sent on the connections open now, in both directions; they stay open. */
  freeze(): void {
    for (const client of this.#clients.keys()) this.#frozen.add(client);
  }

  /** Cuts every open connection at its next answer, after so many bytes of it. */
  cutNextAnswer(bytes = 0): void {
    for (const client of this.#clients.keys()) this.#clients.set(client, bytes);
  }

  /** Tells the clients that nothing more will come, and still takes what they send. */
  halfClose(): void {
    for (const client of this.#clients.keys()) client.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(client: Socket, server: Socket): void {
    server.setNoDelay(true);
    const end = () => {
      client.destroy();
      server.destroy();
    };
    this.#clients.set(client, this.bytesToLive());
    client.on("close", () => this.#clients.delete(client));
    for (const socket of [client, server]) {
      socket.on("error", end);
      socket.on("close", end);
    }
    client.on("data", (bytes) => this.#frozen.has(client) || this.#pass(server, bytes));
    client.on("end", () => server.end());
    server.on("end", () => client.end());
    server.on("data", (bytes) => {
      if (this.#frozen.has(client)) return;
      const left = (this.#clients.get(client) ?? 0) - bytes.length;
      this.#clients.set(client, left);
      if (left >= 0) return this.#pass(client, bytes);
      client.write(bytes.subarray(0, left + bytes.length));
      end();
    });
  }

  #pass(to: Socket, bytes: Buffer): void {
    if (this.weather === "blackhole" || to.writableEnded) return;
    if (this.delayMs === 0) {
      to.write(bytes);
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!to.writableEnded) to.write(bytes);
    }, this.delayMs);
    this.#timers.add(timer);
  }
}
