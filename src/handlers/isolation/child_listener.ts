/**
 * Accepts connections of child processes, and no others.
 *
 *  1. The socket exists only while a child is expected, and so needs no cleanup when this process is killed later. It is
 *     also safe from programs that delete old temporary files.
 *  2. A token identifies the child that connects.
 *
 * @module
 */
import { readToken } from "./ipc.ts";
import { openPrivateSocket, type PrivateSocket, type PrivateSocketOptions } from "./private_socket.ts";
import { attempt } from "./spawn_self.ts";

/** A child that is expected to connect. */
export interface ExpectedChild {
  /** The path of the socket. */
  readonly address: string;
  /** The child must send this token first. */
  readonly token: string;
  /** The connection of the child; undefined after {@linkcode cancel}. */
  readonly connection: Promise<Deno.Conn | undefined>;
  /** Stops waiting, because the child has ended. */
  cancel(): void;
}

export class ChildListener {
  readonly #options: PrivateSocketOptions;
  readonly #expected = new Map<string, (connection: Deno.Conn | undefined) => void>();
  #open: PrivateSocket | undefined;

  constructor(options: PrivateSocketOptions) {
    this.#options = options;
  }

  /**
   * Expects the connection of one more child.
   *
   * @throws {SpawnError} if no socket can be opened
   */
  expect(): ExpectedChild {
    const { address } = this.#open ??= attempt(() =>
      openPrivateSocket((socket) => void this.#greet(socket), this.#options)
    );
    const token = crypto.randomUUID();
    const { promise: connection, resolve } = Promise.withResolvers<Deno.Conn | undefined>();
    this.#expected.set(token, resolve);
    return { address, token, connection, cancel: () => this.#settle(token, undefined) };
  }

  async #greet(socket: Deno.Conn): Promise<void> {
    const token = await readToken(socket);
    if (!this.#settle(token, socket)) socket.close();
  }

  #settle(token: string, connection: Deno.Conn | undefined): boolean {
    const resolve = this.#expected.get(token);
    if (resolve === undefined) return false;
    this.#expected.delete(token);
    resolve(connection);
    if (this.#expected.size === 0) {
      this.#open?.close();
      this.#open = undefined;
    }
    return true;
  }
}
