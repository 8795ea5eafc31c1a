/**
 * An HTTP endpoint for tests, on a plain socket: it may answer what no HTTP server would.
 *
 * @module
 */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { until } from "./eventually.ts";

interface TlsKey {
  readonly cert: string;
  readonly key: string;
}

/** A request that has arrived. */
export interface ArrivedRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The number of its connection, from 1. */
  readonly connection: number;
  /** Whether the client has closed the connection. */
  isClosed: boolean;
}

/** Answers a request, by writing to its connection. */
export type AnswerRequest = (
  request: ArrivedRequest,
  connection: { readonly write: (text: string) => Promise<void>; readonly close: () => void },
) => unknown;

/** Returns the text of an answer. */
export function answerText(status: number, body = "", headers: Readonly<Record<string, string>> = {}): string {
  const all = { "content-length": String(new TextEncoder().encode(body).length), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Words\r\n${lines.join("")}\r\n${body}`;
}

export class HttpEndpoint implements AsyncDisposable {
  readonly requests: ArrivedRequest[] = [];
  /** Answers each request; a test may change it. */
  answer: AnswerRequest;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #connections = 0;

  private constructor(answer: AnswerRequest, tls: TlsKey | undefined) {
    this.answer = answer;
    const serve = (socket: Socket) => this.#serve(socket, ++this.#connections);
    this.#server = tls ? createTlsServer(tls, serve) : createServer(serve);
  }

  /** @param tls its certificate and key, in PEM format */
  static async open(answer: AnswerRequest, tls?: TlsKey): Promise<HttpEndpoint> {
    const endpoint = new HttpEndpoint(answer, tls);
    await new Promise<void>((resolve) => endpoint.#server.listen(0, "127.0.0.1", resolve));
    return endpoint;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/jobs`;
  }

  /** Waits for a number of requests. */
  async arrived(count: number): Promise<void> {
    await until(() => this.requests.length >= count, () => `${count} requests; ${this.requests.length} have arrived`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket, connection: number): void {
    this.#sockets.add(socket);
    const own: ArrivedRequest[] = [];
    const write = (text: string) =>
      new Promise<void>((resolve, reject) => socket.write(text, (error) => error ? reject(error) : resolve()));
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => {
      text += chunk;
      for (let taken = takeRequest(text); taken !== undefined; taken = takeRequest(text)) {
        text = taken.rest;
        const request = { ...taken.request, connection, isClosed: socket.destroyed };
        own.push(request);
        this.requests.push(request);
        void Promise.resolve(this.answer(request, { write, close: () => socket.destroy() })).catch(() => {});
      }
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#sockets.delete(socket);
      for (const request of own) request.isClosed = true;
    });
  }
}

/** Takes the first whole request out of a text. The bodies of tests are ASCII. */
function takeRequest(text: string) {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first, ...lines] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(lines.map((line) => {
    const [, name, value] = /^([^:]+): *(.*)$/.exec(line)!;
    return [name!.toLowerCase(), value!];
  }));
  const bodyEnd = end + 4 + Number(headers["content-length"] ?? 0);
  if (text.length < bodyEnd) return undefined;
  const request = { path: first!.split(" ")[1]!, headers, body: text.slice(end + 4, bodyEnd) };
  return { request, rest: text.slice(bodyEnd) };
}
