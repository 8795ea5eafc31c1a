/**
 * Keeps a web server accepting connections when file descriptors run out.
 *
 *  1. Connections may take half of the descriptors: visitors alone cannot exhaust them.
 *  2. Where something else does, Deno 2.8.3 stops accepting for good, without an event. So a server that has accepted nothing
 *     for a while connects to itself, and listens again if that isn't accepted.
 *
 * @module
 */
import { once } from "node:events";
import type { Server } from "node:http";
import { connect, type Socket } from "node:net";
import type { Clock } from "../../clock.ts";

export interface AcceptingOptions {
  readonly host: string;
  readonly port: number;
  /** Time between two checks. */
  readonly intervalMs: number;
  readonly clock: Clock;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

/** Returns how many connections to allow: at most `max`, and at most half of the limit of open files. */
export async function affordableConnections(max: number): Promise<number> {
  const limits = await Deno.readTextFile("/proc/self/limits").catch(() => "");
  const soft = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  return Math.max(1, Math.min(max, Math.floor(soft / 2)));
}

/** Listens again whenever the server has stopped accepting; resolves when the signal aborts. Never rejects. */
export async function keepAccepting(
  server: Server,
  { host, port, intervalMs, clock, signal }: AcceptingOptions,
): Promise<void> {
  let visitors = 0;
  let probe: Probe | undefined;
  server.on("connection", (socket: Socket) => probe?.accept(socket) || visitors++);
  // One miss proves nothing: a blocked event loop accepts late.
  let misses = 0;
  while (!signal.aborted) {
    visitors = 0;
    await clock.sleep(intervalMs, signal);
    const isSilent = visitors === 0 && probe?.accepted === false;
    misses = isSilent ? misses + 1 : 0;
    probe?.end();
    if (signal.aborted) return;
    if (misses >= 2) {
      misses = 0;
      await listenAgain(server, host, port);
    }
    // An accepted visitor proves as much as an accepted probe.
    probe = visitors > 0 ? undefined : new Probe(port, ownAddress(host));
  }
}

/** A connection of the server to itself. */
class Probe {
  readonly #socket: Socket;
  #accepted = false;

  constructor(port: number, host: string) {
    this.#socket = connect(port, host);
    this.#socket.on("error", () => {}); // refused, or no descriptor is free
    // A server at its limit of connections accepts one more, and closes it.
    this.#socket.on("end", () => this.#accepted = true);
    this.#socket.resume();
  }

  /** Whether the server has accepted it. */
  get accepted(): boolean {
    return this.#accepted;
  }

  /** Ends the probe if this is the server's side of it; returns whether it is. */
  accept(socket: Socket): boolean {
    if (socket.remotePort === undefined || socket.remotePort !== this.#socket.localPort) return false;
    this.#accepted = true;
    this.end();
    return true;
  }

  end(): void {
    this.#socket.destroy();
  }
}

async function listenAgain(server: Server, host: string, port: number): Promise<void> {
  try {
    server.close();
    server.listen(port, host);
    await once(server, "listening");
  } catch {
    // The next check tries again.
  }
}

/** Returns the address under which the machine itself reaches a server. */
function ownAddress(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}
