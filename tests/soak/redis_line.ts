/**
 * A program's way to a group of Redis servers: a proxy for each server, and the Sentinel's reports with the ports of these
 * proxies in place of the servers'.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { RedisGroup } from "../support/redis_group.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import type { Line } from "./ground.ts";

/** A line through proxies. */
export class RedisLine implements Line, AsyncDisposable {
  readonly #proxies: readonly TcpProxy[];
  readonly #sentinel: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(proxies: readonly TcpProxy[], sentinel: Server) {
    this.#proxies = proxies;
    this.#sentinel = sentinel;
  }

  /** Makes a line to a group. */
  static async make(group: RedisGroup): Promise<RedisLine> {
    const proxies = await Promise.all(group.servers.map(({ port }) => TcpProxy.start(port)));
    const ports = new Map(group.servers.map(({ port }, i) => [`${port}`, `${proxies[i]!.port}`]));
    const sentinel = createServer({ noDelay: true });
    const line = new RedisLine(proxies, sentinel);
    sentinel.on("connection", (client) => line.#join(client, connect(group.sentinel.port, "127.0.0.1"), ports));
    sentinel.listen(0, "127.0.0.1");
    await once(sentinel, "listening");
    return line;
  }

  get url(): string {
    return `redis+sentinel://127.0.0.1:${(this.#sentinel.address() as AddressInfo).port}/mymaster/0`;
  }

  /** Does something to the way to each server. */
  each(act: (proxy: TcpProxy) => unknown): void {
    for (const proxy of this.#proxies) act(proxy);
  }

  clear(): void {
    this.each((proxy) => {
      proxy.delayMs = 0;
      proxy.weather = "fair";
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#sentinel.close(resolve));
    for (const proxy of this.#proxies) await proxy[Symbol.asyncDispose]();
  }

  /** All ports have five digits: the lengths in the protocol stay right. */
  #join(client: Socket, sentinel: Socket, ports: ReadonlyMap<string, string>): void {
    const pattern = new RegExp(`\\b(${[...ports.keys()].join("|")})\\b`, "g");
    client.on("data", (bytes) => sentinel.write(bytes));
    sentinel.on("data", (bytes) => {
      const text = bytes.toString("latin1").replace(pattern, (port) => ports.get(port)!);
      client.write(Buffer.from(text, "latin1"));
    });
    for (const [one, other] of [[client, sentinel], [sentinel, client]] as const) {
      this.#sockets.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }
}
