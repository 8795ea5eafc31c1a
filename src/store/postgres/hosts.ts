/**
 * The hosts of a server: its connections go to the first one that accepts them, and stay with it.
 *
 * @module
 */
import type { Socket } from "node:net";
import type { Endpoint } from "./address.ts";

/** Something that listens there, but not as PostgreSQL: a balancer without a server, for example. */
export const CLOSED_AT_ONCE = "CLOSED_AT_ONCE";
/** The other side closed the connection. The driver gives statements this code, too. */
const CLOSED = "CONNECTION_CLOSED";

/** Chooses the host of new connections. */
export class Hosts {
  readonly #endpoints: readonly Endpoint[];
  #at = 0;

  constructor(endpoints: readonly Endpoint[]) {
    this.#endpoints = endpoints;
  }

  get hasOthers(): boolean {
    return this.#endpoints.length > 1;
  }

  /** Connects a socket. If the host doesn't answer, the next connection goes to the next host. */
  dial(socket: Socket): void {
    const at = this.#at;
    const { host, port } = this.#endpoints[at % this.#endpoints.length]!;
    // The driver needs both for TLS, and for its errors.
    Object.assign(socket, { host, port });
    socket.once("close", () => {
      if (socket.bytesRead === 0) this.skip(at);
    });
    // Before the end of the login, the driver would connect again, without a pause, and without an error for the statement.
    socket.once("end", () => {
      const [code, when] = socket.bytesRead > 0 ? [CLOSED, ""] : [CLOSED_AT_ONCE, " at once"];
      socket.destroy(Object.assign(new Error(`${host}:${port} closed the connection${when}`), { code }));
    });
    if (host.startsWith("/")) socket.connect(`${host}/.s.PGSQL.${port}`);
    else socket.connect(port, host);
  }

  /** Leaves a host, unless another connection has done it already. */
  skip(at = this.#at): void {
    if (at === this.#at) this.#at++;
  }
}
