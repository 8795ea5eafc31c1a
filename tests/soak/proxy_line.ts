/**
 * A program's way to a server of this machine: a proxy.
 *
 * @module
 */
import { TcpProxy } from "../support/tcp_proxy.ts";
import type { Line } from "./ground.ts";

/** A line through one proxy. */
export class ProxyLine implements Line, AsyncDisposable {
  readonly url: string;
  readonly #proxy: TcpProxy;

  private constructor(proxy: TcpProxy, url: string) {
    this.#proxy = proxy;
    this.url = url;
  }

  /**
   * Makes one to a port.
   *
   * @param url returns the server's address at the port of the proxy
   */
  static async make(port: number, url: (port: number) => string): Promise<ProxyLine> {
    const proxy = await TcpProxy.start(port);
    return new ProxyLine(proxy, url(proxy.port));
  }

  /** Does something to the way. */
  each(act: (proxy: TcpProxy) => unknown): void {
    act(this.#proxy);
  }

  clear(): void {
    this.#proxy.delayMs = 0;
    this.#proxy.weather = "fair";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
  }
}
