/**
 * The web on a socket. Anything but the loopback is refused while nobody has to log in.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { type HttpTimeouts, listen } from "./http.ts";
import type { Web } from "../web.ts";

/** Where to listen. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A listening web. */
export interface Server extends AsyncDisposable {
  /** As it is really: with the port that was free when 0 was asked for. */
  readonly address: Address;
}

/** Where it listens when nobody says. */
export const DEFAULT_ADDRESS: Address = { host: "127.0.0.1", port: 7433 };

/**
 * Reads `PORT`, `HOST:PORT`, `[ADDRESS]:PORT`, or `HOST` alone.
 *
 * @throws {RangeError} when it is none of them
 */
export function parseListenAddress(text: string): Address {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))?(?::(\d{1,5}))?$/.exec(text);
  const [, bracketed, name, digits] = match ?? [];
  // A number alone is a port.
  const port = digits ?? (name !== undefined && /^\d{1,5}$/.test(name) ? name : undefined);
  const host = bracketed ?? (port === name ? undefined : name);
  if (match === null || text === "" || Number(port ?? 0) > 65_535) {
    throw new RangeError(`Address "${text}" cannot be read; wanted: PORT, HOST:PORT or [ADDRESS]:PORT`);
  }
  return { host: host ?? DEFAULT_ADDRESS.host, port: port === undefined ? DEFAULT_ADDRESS.port : Number(port) };
}

/**
 * Listens.
 *
 * @param patience what differs from the usual
 * @throws {RangeError} when others could reach it without a login, or something else listens there
 */
export async function serve(web: Web, { host, port }: Address, patience?: Partial<HttpTimeouts>): Promise<Server> {
  if (web.open && !isLoopback(host)) {
    throw new RangeError(
      `Anybody who reaches "${host}" could do anything: name users first (jobs web --new-user NAME prints a line for ` +
        "web.users), or a proxy's header (web.proxyHeader); or listen on 127.0.0.1",
    );
  }
  const server = await listen((request, peer) => web.handle(request, peer), {
    host,
    port,
    clock: systemClock,
    proxies: web.proxies,
    ...(patience && { patience }),
  }).catch((error: Error & { readonly code?: string }) => {
    throw new RangeError(`Cannot listen on ${urlOf({ host, port }, "")}: ${reasonOf(error)}`);
  });
  return {
    address: { host, port: server.port },
    async [Symbol.asyncDispose]() {
      // First the web, which ends the streams: the server waits for them.
      await web[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

function reasonOf({ code, message }: { readonly code?: string; readonly message: string }): string {
  switch (code) {
    case "EADDRINUSE":
      return "something else listens there; choose another port";
    case "EACCES":
      return "this user may not; choose a port above 1023";
    case "EADDRNOTAVAIL":
      return "this machine does not have that address";
    case "ENOTFOUND":
      return "nobody knows that name";
    default:
      return message;
  }
}

/** The address as one types it into a browser. */
export function urlOf({ host, port }: Address, prefix: string): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}${prefix}/`;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
