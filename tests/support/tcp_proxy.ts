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
  /** So many bytes may still pass from the server; then its connections are cut, in the middle of an answer. */
  cutAfterBytes = Infinity;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
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
    for (const socket of this.#open) socket.destroy();
  }

  /** Tells the clients that nothing more will come, and still takes what they send. */
  halfClose(): void {
    for (const socket of this.#open) if (socket.localPort === this.port) socket.end();
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
    for (const socket of [client, server]) {
      this.#open.add(socket);
      socket.on("error", end);
      socket.on("close", () => {
        this.#open.delete(socket);
        end();
      });
    }
    client.on("data", (bytes) => this.#pass(server, bytes));
    client.on("end", () => server.end());
    server.on("end", () => client.end());
    server.on("data", (bytes) => {
      const passing = Math.min(bytes.length, this.cutAfterBytes);
      this.cutAfterBytes -= passing;
      this.#pass(client, bytes.subarray(0, passing));
      if (passing < bytes.length) this.cut();
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
