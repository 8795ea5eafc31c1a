/**
 * Serves the dashboard and API on a socket. Without a login it listens on the loopback interface only.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { type HttpLimits, listen } from "./http.ts";
import type { Web } from "../web.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Server extends AsyncDisposable {
  /** The address it listens on. Port 0 is replaced by the port that the system chose. */
  readonly address: Address;
}

/** The address to listen on by default. */
export const DEFAULT_ADDRESS: Address = { host: "127.0.0.1", port: 7433 };

/**
 * Reads `PORT`, `HOST:PORT`, `[ADDRESS]:PORT`, or `HOST` alone.
 *
 * @throws {RangeError} if the text has another form
 */
export function parseListenAddress(text: string): Address {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))?(?::(\d{1,5}))?$/.exec(text);
  const [, bracketed, name, digits] = match ?? [];
  // A number alone is a port.
  const port = digits ?? (name !== undefined && /^\d{1,5}$/.test(name) ? name : undefined);
  const host = bracketed ?? (port === name ? undefined : name);
  if (match === null || text === "" || Number(port ?? 0) > 65_535) {
    throw new RangeError(`Invalid address "${text}": expected PORT, HOST:PORT or [ADDRESS]:PORT`);
  }
  return { host: host ?? DEFAULT_ADDRESS.host, port: port === undefined ? DEFAULT_ADDRESS.port : Number(port) };
}

/**
 * Listens on an address. Disposing of the result ends the event streams first, then the connections.
 *
 * @param limits overrides the defaults
 * @throws {RangeError} if other machines could reach it without a login, or the address is unavailable
 */
export async function serve(web: Web, { host, port }: Address, limits?: Partial<HttpLimits>): Promise<Server> {
  if (web.open && !isLoopback(host)) {
    throw new RangeError(
      `Cannot listen on "${host}" without a login: add users to web.users (jobs web --new-user NAME prints a line for ` +
        "it), set web.proxyHeader, or listen on 127.0.0.1",
    );
  }
  const server = await listen((request, peer) => web.handle(request, peer), {
    host,
    port,
    clock: systemClock,
    proxies: web.proxies,
    ...(limits && { limits }),
  }).catch((error: Error & { readonly code?: string }) => {
    throw new RangeError(`Cannot listen on ${urlOf({ host, port }, "")}: ${reasonOf(error)}`, { cause: error });
  });
  return {
    address: { host, port: server.port },
    async [Symbol.asyncDispose]() {
      // The server waits for the event streams, which the dashboard ends.
      await web[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

function reasonOf({ code, message }: { readonly code?: string; readonly message: string }): string {
  switch (code) {
    case "EADDRINUSE":
      return "address already in use; choose another port";
    case "EACCES":
      return "permission denied; choose a port above 1023";
    case "EADDRNOTAVAIL":
      return "this machine doesn't have that address";
    case "ENOTFOUND":
      return "unknown host name";
    default:
      return message;
  }
}

/** Returns the URL of the dashboard at an address. */
export function urlOf({ host, port }: Address, prefix: string): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}${prefix}/`;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
