/**
 * Sends one POST request over a kept connection, and reads the answer within bounds.
 *
 * `node:http` and not `fetch`: it connects to the address that was checked (`lookup`), so that a name which resolves to another
 * address a moment later reaches nothing. It follows no redirects, and decompresses nothing.
 *
 * @module
 */
import { lookup } from "node:dns";
import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from "node:http";
import { Agent as TlsAgent, request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import type { Clock } from "../../clock.ts";
import { isPublicAddress } from "../../job/network.ts";

/** Connecting takes at most this long, with TLS. */
const CONNECT_TIMEOUT_MS = 10_000;
/** The body of an answer without success is read for at most this long. */
const ERROR_BODY_TIMEOUT_MS = 2_000;
/**
 * A kept connection that ends this soon after a request was written had been closed by the host before: its end was on the way.
 * Later, the host may have read the request, and work on it still, as behind a balancer that gives up.
 */
export const STALE_WITHIN_MS = 25;

/** The address of a host is not public, and the endpoint doesn't allow that. */
export class PrivateAddress extends Error {
  override readonly name = "PrivateAddress";
}

/** The connections to one host, which are kept open between requests. */
export interface Connections {
  readonly agent: Agent;
  readonly ca: string | undefined;
  readonly allowPrivate: boolean;
}

export function openConnections(
  { url, ca, allowPrivate }: {
    readonly url: string;
    readonly ca: string | undefined;
    readonly allowPrivate: boolean;
  },
): Connections {
  const options = { keepAlive: true };
  return { agent: url.startsWith("https:") ? new TlsAgent(options) : new Agent(options), ca, allowPrivate };
}

export interface PostRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly connections: Connections;
}

/** Receives the body of an answer, chunk by chunk. Returns false to close the connection. */
export type BodyReader = (chunk: Uint8Array) => boolean;

export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly header: (name: string) => string | undefined;
}

/**
 * Sends a request. Resolves when the whole body was read, or its reader has had enough.
 *
 * @param readerOf returns the reader of the answer's body
 * @throws {PrivateAddress}
 * @throws the reason of the signal, when it aborts: the connection is closed then
 */
export async function post(request: PostRequest, readerOf: (answer: Answer) => BodyReader): Promise<Answer> {
  try {
    return await send(request, readerOf);
  } catch (error) {
    // The host has closed a kept connection at the moment at which it was used again: it hasn't read this request.
    if (!(error instanceof StaleConnection) || request.signal.aborted) throw error;
    // The other ones have probably ended, too: after a restart, or at a balancer that drops connections without requests.
    for (const idle of Object.values(request.connections.agent.freeSockets).flat()) idle?.destroy();
    return await send(request, readerOf);
  }
}

class StaleConnection extends Error {}

async function send(request: PostRequest, readerOf: (answer: Answer) => BodyReader): Promise<Answer> {
  const { signal, url, clock, connections: { allowPrivate } } = request;
  signal.throwIfAborted();
  const host = url.hostname.replace(/^\[|\]$/g, "");
  // Addresses aren't looked up.
  if (isIP(host) !== 0 && !allowPrivate && !isPublicAddress(host)) throw privateAddress(host, host);
  const ended = new AbortController();
  const outgoing = open(request);
  const onAbort = () => void outgoing.destroy(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const within = (ms: number, timer: AbortSignal, then: () => void) =>
    void clock.sleep(ms, timer).then(() => timer.aborted || then());
  try {
    const answered = answerOf(outgoing, clock, (socket) => {
      const connected = new AbortController();
      socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => connected.abort("connected"));
      within(
        CONNECT_TIMEOUT_MS,
        AbortSignal.any([connected.signal, ended.signal]),
        () => void outgoing.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS / 1_000} s`)),
      );
    });
    outgoing.end(request.body);
    const incoming = await answered;
    const answer: Answer = {
      status: incoming.statusCode!,
      statusText: incoming.statusMessage ?? "",
      header: (name) => [incoming.headers[name]].flat()[0],
    };
    const isSuccess = answer.status >= 200 && answer.status < 300;
    const given = new AbortController();
    if (!isSuccess) within(ERROR_BODY_TIMEOUT_MS, ended.signal, () => given.abort());
    await readBody(incoming, readerOf(answer), given.signal);
    return answer;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    ended.abort("ended");
    signal.removeEventListener("abort", onAbort);
  }
}

function open({ url, headers, body, connections: { agent, ca, allowPrivate } }: PostRequest): ClientRequest {
  const options: RequestOptions & { ca?: string } = {
    method: "POST",
    agent,
    headers: { ...headers, "content-length": String(body.length) },
    lookup: (host, asked, callback) => lookUp(host, allowPrivate, asked.all === true, callback),
    ...(ca !== undefined && { ca }),
  };
  return url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options);
}

// deno-lint-ignore no-explicit-any -- Node's callback has one of two forms
type LookupCallback = (error: Error | null, address: any, family?: number) => void;

/** Looks up a host, and returns only the addresses that may be connected to. */
function lookUp(host: string, allowPrivate: boolean, all: boolean, callback: LookupCallback): void {
  lookup(host, { all: true }, (error, found) => {
    if (error) return callback(error, []);
    const allowed = allowPrivate ? found : found.filter(({ address }) => isPublicAddress(address));
    const [first] = allowed;
    if (first === undefined) return callback(privateAddress(host, found[0]?.address ?? "none"), []);
    if (all) callback(null, allowed);
    else callback(null, first.address, first.family);
  });
}

function privateAddress(host: string, address: string): PrivateAddress {
  const name = host === address ? host : `${host} is ${address}, which`;
  return new PrivateAddress(`${name} isn't a public address; "allowPrivate": true in the endpoint's entry allows it`);
}

/**
 * Returns the answer to a request.
 *
 * @param onConnecting called if a new connection is needed
 * @throws {StaleConnection} if a kept connection ends before the host can have read the request: nothing of it was written, or
 *   the end came within {@linkcode STALE_WITHIN_MS}, before the first byte of an answer
 */
function answerOf(
  outgoing: ClientRequest,
  clock: Clock,
  onConnecting: (socket: Socket) => void,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let isUnread = () => false;
    outgoing.on("socket", (socket) => {
      const isKept = outgoing.reusedSocket;
      const { bytesRead, bytesWritten } = socket;
      const since = clock.monotonic();
      isUnread = () =>
        isKept && socket.bytesRead === bytesRead &&
        (socket.bytesWritten === bytesWritten || clock.monotonic() - since <= STALE_WITHIN_MS);
      // Deno would send it again by itself: on another kept connection, without a limit for connecting, and also if it was destroyed here.
      outgoing.reusedSocket = false;
      if (!isKept) onConnecting(socket);
    });
    outgoing.once("response", resolve);
    // Not once: an error after the answer, which its body reports as well, must not end the process.
    outgoing.on("error", (error: Error & { readonly code?: string }) => {
      const isStale = (error.code === "ECONNRESET" || error.code === "EPIPE") && isUnread();
      reject(isStale ? new StaleConnection(error.message, { cause: error }) : error);
    });
  });
}

/** Reads a body to its end; until its reader has had enough, or the signal aborts, the connection is closed then. */
function readBody(incoming: IncomingMessage, read: BodyReader, enough: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      resolve();
      incoming.destroy();
    };
    enough.addEventListener("abort", stop, { once: true });
    incoming.on("data", (chunk: Uint8Array) => void (read(chunk) || stop()));
    incoming.on("error", reject);
    incoming.on("end", () => {
      if (incoming.complete) resolve();
      else reject(new Error("the connection closed in the middle of the body"));
    });
    incoming.on("close", () => reject(new Error("the connection closed in the middle of the body")));
  });
}
