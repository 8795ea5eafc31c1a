/**
 * A remote worker's way to its gateway: a proxy.
 *
 * @module
 */
import { TcpProxy } from "../support/tcp_proxy.ts";
import type { Line } from "./ground.ts";

/** A line through one proxy. */
export class GatewayLine implements Line, AsyncDisposable {
  readonly #proxy: TcpProxy;

  private constructor(proxy: TcpProxy) {
    this.#proxy = proxy;
  }

  /** Makes a line to a port of this machine. */
  static async make(port: number): Promise<GatewayLine> {
    return new GatewayLine(await TcpProxy.start(port));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#proxy.port}`;
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
