/**
 * An HTTP server for a function from requests to responses. It uses `node:http` for its timeouts: with `Deno.serve`, a
 * client that sends half a request, or nothing, holds a connection without limit.
 *
 *  1. A request's head, a whole request, an idle connection and a client that doesn't read each have a timeout.
 *  2. The number of connections and the size of a head are bounded. Connections beyond the bound are closed.
 *  3. The requests of a connection are served one at a time, and unread responses are bounded in total.
 *  4. Requests in other forms than browsers and proxies send to a server get status 400.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Readable } from "node:stream";
import type { Clock } from "../../clock.ts";
import { networkOf } from "../auth/network.ts";
import { affordableConnections, keepAccepting } from "./accepting.ts";
import { serializeRequests, WriteBacklog } from "./request_queue.ts";

/** Timeouts, in milliseconds, and other bounds of a server. */
export interface HttpLimits {
  /** Until all headers have arrived, from the connection's beginning or the response before. */
  readonly headMs: number;
  /** Until the whole request has arrived. */
  readonly requestMs: number;
  /** Closes a connection that has had no request for this long. */
  readonly idleMs: number;
  /** Closes a connection over which no byte could be sent or received for this long. */
  readonly silentMs: number;
  /** Connections at once; never more than half of the limit of open files. */
  readonly connections: number;
  /** Of these, the most from one address, or from one IPv6 network of 64 bits. Doesn't apply to proxies. */
  readonly perAddress: number;
  /** A server that has accepted no connection for this long connects to itself, to check that it still accepts. */
  readonly probeMs: number;
  /** Bytes of responses that clients haven't read yet, all connections together. */
  readonly unreadBytes: number;
}

const DEFAULT_LIMITS: HttpLimits = {
  headMs: 10_000,
  requestMs: 30_000,
  idleMs: 30_000,
  silentMs: 120_000,
  connections: 2_000,
  perAddress: 500,
  probeMs: 5_000,
  unreadBytes: 64 * 1024 * 1024,
};
const MAX_HEAD_BYTES = 32 * 1024;
/** Time for responses to be sent when the server closes. */
const CLOSE_TIMEOUT_MS = 2_000;
/** Time for a client to read the response to a request whose body was not read. */
const LINGER_MS = 500;

/** Returns the response to a request; `peer` is the address at the other end of the connection. */
export type Handler = (request: Request, peer: string) => Promise<Response>;

export interface HttpServer {
  readonly port: number;
  /** Stops accepting, lets responses end for up to 2 s, then closes all connections. */
  close(): Promise<void>;
}

/**
 * Listens on an address.
 *
 * @param proxies addresses that stand for many visitors: `perAddress` doesn't apply to them
 * @param limits overrides the defaults
 * @throws {Error} Node's error, with a `code` such as `EADDRINUSE`
 */
export async function listen(
  handler: Handler,
  { host, port, clock, proxies, limits = {} }: {
    readonly host: string;
    readonly port: number;
    readonly clock: Clock;
    readonly proxies: readonly string[];
    readonly limits?: Partial<HttpLimits>;
  },
): Promise<HttpServer> {
  const bounds = { ...DEFAULT_LIMITS, ...limits };
  const { headMs, requestMs, idleMs, silentMs, connections, perAddress, probeMs: intervalMs, unreadBytes } = bounds;
  const unread = new WriteBacklog(unreadBytes);
  const onRequest = serializeRequests(async (incoming, outgoing) => {
    closeUnlessRead(incoming, outgoing, clock);
    await answer(handler, unread, incoming, outgoing);
  });
  const server = createServer(
    {
      headersTimeout: headMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.min(1_000, headMs),
      maxHeaderSize: MAX_HEAD_BYTES,
      // Otherwise Node itself answers requests without a host, out of turn.
      requireHostHeader: false,
    },
    onRequest,
  );
  // Otherwise Node itself answers requests with an unknown `Expect` header, out of turn.
  server.on("checkExpectation", onRequest);
  server.maxConnections = await affordableConnections(connections);
  server.setTimeout(silentMs);
  server.on("connection", pauseBeforeDestroy);
  server.on("connection", limitPerNetwork(perAddress, proxies));
  server.listen(port, host);
  await once(server, "listening");
  const bound = (server.address() as AddressInfo).port;
  const closing = new AbortController();
  const accepting = keepAccepting(server, { host, port: bound, intervalMs, clock, signal: closing.signal });
  return {
    port: bound,
    async close() {
      closing.abort();
      await accepting;
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      const over = new AbortController();
      await Promise.race([closed, clock.sleep(CLOSE_TIMEOUT_MS, over.signal)]);
      over.abort();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Prevents a leak: Deno 2.8.3 never frees a socket, with its requests and responses, that is destroyed while it reads. */
function pauseBeforeDestroy(socket: Socket): void {
  const { destroy } = socket;
  socket.destroy = function (this: Socket, ...given) {
    this.pause();
    return destroy.apply(this, given);
  };
}

/** Returns a listener that closes connections beyond `max` from one network, unless they come from a proxy. */
function limitPerNetwork(max: number, proxies: readonly string[]): (socket: Socket) => void {
  const open = new Map<string, number>();
  return (socket) => {
    const address = peerOf(socket);
    if (proxies.includes(address)) return;
    const network = networkOf(address);
    const count = open.get(network) ?? 0;
    if (count >= max) return void socket.destroy();
    open.set(network, count + 1);
    socket.once("close", () => {
      const left = open.get(network)! - 1;
      if (left > 0) open.set(network, left);
      else open.delete(network);
    });
  };
}

/**
 * Closes the connection of a request that is answered before its body has arrived. Node would read the rest, gigabytes of
 * it, to get to the next request. The client gets some time to read the response first: closing a connection with unread
 * bytes resets it, and the response is lost.
 */
function closeUnlessRead(incoming: IncomingMessage, outgoing: ServerResponse, clock: Clock): void {
  const { socket } = incoming;
  outgoing.once("finish", () => {
    if (incoming.complete || socket.destroyed) return;
    socket.pause();
    const over = new AbortController();
    socket.once("close", () => over.abort());
    void clock.sleep(LINGER_MS, over.signal).then(() => socket.destroy());
  });
}

/** Each response ends with it. Made for each, with a stack, it would take a twentieth of the processor time of a small request. */
const GONE = new DOMException("The response is over, or its connection", "AbortError");

async function answer(
  handler: Handler,
  unread: WriteBacklog,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort(GONE));
  try {
    const request = requestOf(incoming, gone.signal);
    if (request === undefined) {
      outgoing.writeHead(400, { "content-type": "text/plain", "connection": "close" }).end("No such request\n");
      return;
    }
    await send(await handler(request, peerOf(incoming.socket)), outgoing, unread, gone.signal);
  } catch {
    // The handler never rejects: the connection failed.
    outgoing.destroy();
  }
}

/** Returns the peer's address. A socket for both IP versions reports IPv4 addresses with the prefix `::ffff:`. */
function peerOf({ remoteAddress = "" }: Socket): string {
  return remoteAddress.replace(/^::ffff:(?=[\d.]+$)/, "");
}

/** Returns the request; undefined unless it names one host and a path. */
function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = "GET", url = "", rawHeaders } = incoming;
  const headers = new Headers();
  try {
    for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!);
    const host = headers.get("host") ?? "";
    // Two Host headers are joined by a comma. Anything but a name and a port would move the path's beginning.
    if (!/^[^\s,/@?#\\]+$/.test(host) || !url.startsWith("/")) return undefined;
    const body = method === "GET" || method === "HEAD" ? null : Readable.toWeb(incoming) as ReadableStream<Uint8Array>;
    return new Request(`http://${host}${url}`, { method, headers, signal, body, ...(body && { duplex: "half" }) });
  } catch {
    return undefined;
  }
}

async function send(
  response: Response,
  outgoing: ServerResponse,
  unread: WriteBacklog,
  gone: AbortSignal,
): Promise<void> {
  outgoing.statusCode = response.status;
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value);
  if (response.body === null || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
    const body = Buffer.from(await response.arrayBuffer());
    if (outgoing.req.method !== "HEAD") outgoing.setHeader("content-length", body.byteLength);
    if (gone.aborted) return;
    unread.add(outgoing, body.byteLength);
    outgoing.end(body);
    return;
  }
  outgoing.flushHeaders();
  const reader = response.body!.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  // A signal that is already aborted calls no listener.
  if (gone.aborted) return cancel();
  gone.addEventListener("abort", cancel);
  for (;;) {
    const { value, done } = await reader.read();
    if (done || gone.aborted) break;
    if (!outgoing.write(value)) await once(outgoing, "drain", { signal: gone });
  }
  outgoing.end();
}
