/**
 * HTTP on a socket, for a function from requests to responses. On `node:http`, because it loses patience: `Deno.serve`
 * lets whoever sends half a request, or nothing at all, hold a connection for ever.
 *
 *  1. A request's head, its whole, an idle connection and a reader that does not read each have their time.
 *  2. So many connections at once, and so large a head; beyond that, they are turned away.
 *  3. A connection's requests are answered one after the other, and what nobody reads has a bound in all.
 *  4. A request is in the form that browsers and proxies send to a server, or it is none.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Readable } from "node:stream";
import type { Clock } from "../../clock.ts";
import { affordableConnections, keepAccepting } from "./accepting.ts";
import { networkOf } from "../auth/network.ts";
import { serializeRequests } from "./request_queue.ts";
import { WriteBacklog } from "./write_backlog.ts";

/** How long one waits for the other end, in milliseconds, and for how many. */
export interface HttpTimeouts {
  /** Until all headers are there, from the connection's beginning or the answer before. */
  readonly headMs: number;
  /** Until the whole request is there. */
  readonly requestMs: number;
  /** A connection without a request is kept so long. */
  readonly idleMs: number;
  /** Nothing could be sent and nothing came for so long. */
  readonly silentMs: number;
  /** Connections at once; never more than half of the files that may be open. */
  readonly connections: number;
  /** Of these, the most from one address, or IPv6 network of 64 bits. No bound for a proxy: it stands for all visitors. */
  readonly perAddress: number;
  /** A server that has accepted no connection for this long checks that it still does. */
  readonly probeMs: number;
  /** So many bytes of answers may wait for their readers, all connections together. */
  readonly unreadBytes: number;
}

const PATIENCE: HttpTimeouts = {
  headMs: 10_000,
  requestMs: 30_000,
  idleMs: 30_000,
  silentMs: 120_000,
  connections: 2_000,
  perAddress: 500,
  probeMs: 5_000,
  unreadBytes: 64 * 1024 * 1024,
};
/** A request's head may be so large. */
const MAX_HEAD_BYTES = 32 * 1024;
/** Answers under way may take so long when it ends. */
const LAST_MS = 2_000;
/** How long the sender of a body that was refused may read the answer. */
const LINGER_MS = 500;

/** What answers; `peer` is the address at the other end. */
export type Handler = (request: Request, peer: string) => Promise<Response>;

/** A listening server. */
export interface HttpServer {
  /** The port it really listens on. */
  readonly port: number;
  /** Takes no more connections, and ends those that are left. */
  close(): Promise<void>;
}

/**
 * Listens.
 *
 * @param proxies addresses that stand for many visitors
 * @param patience what differs from the usual
 * @throws {Error} of Node's, with a `code` such as `EADDRINUSE`
 */
export async function listen(
  handler: Handler,
  { host, port, clock, proxies, patience = {} }: {
    readonly host: string;
    readonly port: number;
    readonly clock: Clock;
    readonly proxies: readonly string[];
    readonly patience?: Partial<HttpTimeouts>;
  },
): Promise<HttpServer> {
  const bounds = { ...PATIENCE, ...patience };
  const { headMs, requestMs, idleMs, silentMs, connections, perAddress, probeMs: intervalMs, unreadBytes } = bounds;
  const unread = new WriteBacklog(unreadBytes);
  const onRequest = serializeRequests(async (incoming, outgoing) => {
    hangUpUnlessRead(incoming, outgoing, clock);
    await answer(handler, unread, incoming, outgoing);
  });
  const server = createServer(
    {
      headersTimeout: headMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.min(1_000, headMs),
      maxHeaderSize: MAX_HEAD_BYTES,
      // Node would answer those without a host itself, out of turn.
      requireHostHeader: false,
    },
    onRequest,
  );
  // So it would those that expect what it does not know.
  server.on("checkExpectation", onRequest);
  server.maxConnections = await affordableConnections(connections);
  server.setTimeout(silentMs);
  server.on("connection", releaseAtEnd);
  server.on("connection", shareOut(perAddress, proxies));
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
      await Promise.race([closed, clock.sleep(LAST_MS, over.signal)]);
      over.abort();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Deno 2.8.3 keeps a socket for ever, with its requests and answers, if it is still reading when it is destroyed. */
function releaseAtEnd(socket: Socket): void {
  const { destroy } = socket;
  socket.destroy = function (this: Socket, ...given) {
    this.pause();
    return destroy.apply(this, given);
  };
}

/** Turns away whoever has so many connections already, unless it is a proxy. */
function shareOut(most: number, proxies: readonly string[]): (socket: Socket) => void {
  const open = new Map<string, number>();
  return (socket) => {
    const address = peerOf(socket);
    if (proxies.includes(address)) return;
    const network = networkOf(address);
    const count = open.get(network) ?? 0;
    if (count >= most) return void socket.destroy();
    open.set(network, count + 1);
    socket.once("close", () => {
      const left = open.get(network)! - 1;
      if (left > 0) open.set(network, left);
      else open.delete(network);
    });
  };
}

/**
 * Ends the connection of a request that is answered before its body has arrived. Node would read the rest, gigabytes of
 * it, to get to the next request. Its sender has some time to read the answer: a connection that ends with bytes unread
 * is reset, and its answer lost.
 */
function hangUpUnlessRead(incoming: IncomingMessage, outgoing: ServerResponse, clock: Clock): void {
  const { socket } = incoming;
  outgoing.once("finish", () => {
    if (incoming.complete || socket.destroyed) return;
    socket.pause();
    const over = new AbortController();
    socket.once("close", () => over.abort());
    void clock.sleep(LINGER_MS, over.signal).then(() => socket.destroy());
  });
}

async function answer(
  handler: Handler,
  unread: WriteBacklog,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  try {
    const request = requestOf(incoming, gone.signal);
    if (request === undefined) {
      outgoing.writeHead(400, { "content-type": "text/plain", "connection": "close" }).end("No such request\n");
      return;
    }
    await send(await handler(request, peerOf(incoming.socket)), outgoing, unread, gone.signal);
  } catch {
    // The handler answers whatever happens; what fails here is the connection.
    outgoing.destroy();
  }
}

/** An IPv4 address is written as one, also where a socket for both kinds took it. */
function peerOf({ remoteAddress = "" }: Socket): string {
  return remoteAddress.replace(/^::ffff:(?=[\d.]+$)/, "");
}

/** The request, if it names one host and a path; undefined when it is something else. */
function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = "GET", url = "", rawHeaders } = incoming;
  const headers = new Headers();
  try {
    for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!);
    const host = headers.get("host") ?? "";
    // Two of them are joined by a comma; anything but a name and a port would move the path's beginning.
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
  // An abort before this line calls no listener.
  if (gone.aborted) return cancel();
  gone.addEventListener("abort", cancel);
  for (;;) {
    const { value, done } = await reader.read();
    if (done || gone.aborted) break;
    if (!outgoing.write(value)) await once(outgoing, "drain", { signal: gone });
  }
  outgoing.end();
}
