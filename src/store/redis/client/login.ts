/**
 * The start of a connection: its socket, and its first commands.
 *
 * @module
 */
import { connect as connectPlain, isIP, type Socket } from "node:net";
import type { ConnectOptions } from "./connection.ts";

/** The system probes the peer of a connection that was silent for this long. */
const KEEP_ALIVE_MS = 30_000;

/** Opens a socket, which may not be connected yet. */
export async function openSocket({ endpoint, tls }: ConnectOptions): Promise<Socket> {
  if ("path" in endpoint) return connectPlain({ path: endpoint.path });
  const options = { ...endpoint, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
  if (!tls) return connectPlain(options);
  return (await import("node:tls")).connect({
    ...options,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(isIP(endpoint.host) ? {} : { servername: endpoint.host }),
  });
}

/** Returns the first commands of a connection: protocol version, login, name and database. */
export function greeting({ login, database, name }: ConnectOptions): string[][] {
  const { username = "default", password } = login;
  const hello = ["HELLO", "3", ...(password ? ["AUTH", username, password] : []), "SETNAME", name];
  return database === 0 ? [hello] : [hello, ["SELECT", `${database}`]];
}
