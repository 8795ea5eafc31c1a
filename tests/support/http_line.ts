/**
 * An HTTP proxy that spoils requests as the proxies of real networks do: it cuts, withholds, delays, answers in place of the
 * server, or redirects.
 *
 * @module
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Buffer } from "node:buffer";

/** How a request is spoiled. */
export type Fault =
  /** The connection is cut, and the server doesn't get the request. */
  | "cut before"
  /** The server performs the request, and the connection is cut without a reply. */
  | "cut after"
  /** The connection is cut within the body of the reply. */
  | "cut within"
  /** The whole reply waits until {@linkcode HttpLine.release}. */
  | "withhold"
  /** The proxy replies in place of the server. */
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

/** A proxy in front of a server on this machine. */
export class HttpLine implements AsyncDisposable {
  /** The number of requests by the last part of their path, spoiled ones included. */
  readonly requests: Map<string, number> = new Map();
  /** The number of open requests by the last part of their path. */
  readonly open: Map<string, number> = new Map();
  /** The number of replies that wait. */
  withheld = 0;
  /** Withholds all replies, also those of open requests. */
  isStalled = false;
  readonly #server: Server;
  readonly #target: () => string;
  readonly #faults = new Map<string, Fault[]>();
  #release = Promise.withResolvers<void>();

  private constructor(target: () => string) {
    this.#target = target;
    this.#server = createServer((request, response) =>
      void this.#handle(request, response).catch(() => response.destroy())
    );
  }

  /** @param target the address of the server, for each request */
  static async start(target: () => string): Promise<HttpLine> {
    const line = new HttpLine(target);
    line.#server.listen(0, "127.0.0.1");
    await once(line.#server, "listening");
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Spoils the next requests whose path ends with `/name`, one fault each. */
  spoil(name: string, ...faults: readonly Fault[]): void {
    this.#faults.set(name, [...this.#faults.get(name) ?? [], ...faults]);
  }

  /** Drops the faults that are still to come. */
  clear(): void {
    this.#faults.clear();
  }

  /** How many faults are still to come. */
  get left(): number {
    return [...this.#faults.values()].flat().length;
  }

  /** Lets the replies go that are withheld. */
  release(): void {
    this.#release.resolve();
    this.#release = Promise.withResolvers<void>();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const name = request.url!.split("?")[0]!.split("/").at(-1)!;
    const count = (by: number) => this.open.set(name, (this.open.get(name) ?? 0) + by);
    count(1);
    const gone = new AbortController();
    response.on("close", () => {
      count(-1);
      gone.abort();
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    this.requests.set(name, (this.requests.get(name) ?? 0) + 1);
    const fault = this.#faults.get(name)?.shift();
    if (fault === "cut before") return void response.destroy();
    if (typeof fault === "object") {
      response.writeHead(fault.status, { "content-type": "text/html", ...fault.headers });
      return void response.end(fault.body ?? "");
    }
    const { host: _, connection: __, "content-length": ___, ...headers } = request.headers;
    const reply = await fetch(this.#target() + request.url!, {
      method: request.method!,
      headers: headers as Record<string, string>,
      redirect: "manual",
      signal: gone.signal,
      ...(chunks.length > 0 && { body: new Uint8Array(Buffer.concat(chunks)) }),
    });
    const body = Buffer.from(await reply.arrayBuffer());
    if (fault === "cut after") return void response.destroy();
    if (fault === "withhold" || this.isStalled) {
      this.withheld++;
      await this.#release.promise;
      this.withheld--;
    }
    response.writeHead(reply.status, {
      ...Object.fromEntries(reply.headers),
      "content-length": body.length,
    });
    if (fault !== "cut within") return void response.end(body);
    response.write(body.subarray(0, body.length / 2), () => response.destroy());
  }
}
