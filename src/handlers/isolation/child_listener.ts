/**
 * Accepts connections of child processes, and no others.
 *
 *  1. The socket is in a folder that only this user can open: no other local user can reach it. A name in Linux's abstract
 *     space would be readable in `/proc/net/unix`, and anyone could connect. Deno 2.8.3 can't close a connection that sends
 *     nothing (denoland/deno#35292), so they would stay open until no file descriptor is free.
 *  2. It exists only while a child is expected, and so needs no cleanup when this process is killed later. It is also safe
 *     from programs that delete old temporary files.
 *  3. A token identifies the child that connects.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import { acceptAll } from "./accept_loop.ts";
import { readToken } from "./ipc.ts";
import { attempt, SpawnError } from "./spawn_self.ts";

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

/** Options of a listener. */
export interface ChildListenerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The folders for the socket's folder, in order of preference. Default: {@linkcode temporaryFolders}. */
  readonly folders?: readonly string[];
}

interface OpenListener {
  readonly address: string;
  close(): void;
}

/** Accepts the connections of children. */
export class ChildListener {
  readonly #options: ChildListenerOptions;
  readonly #expected = new Map<string, (connection: Deno.Conn | undefined) => void>();
  #open: OpenListener | undefined;

  constructor(options: ChildListenerOptions) {
    this.#options = options;
  }

  /**
   * Expects the connection of one more child.
   *
   * @throws {SpawnError} if no socket can be opened
   */
  expect(): ExpectedChild {
    const { address } = this.#open ??= attempt(() => this.#listen());
    const token = crypto.randomUUID();
    const { promise: connection, resolve } = Promise.withResolvers<Deno.Conn | undefined>();
    this.#expected.set(token, resolve);
    return { address, token, connection, cancel: () => this.#settle(token, undefined) };
  }

  #listen(): OpenListener {
    const folders = this.#options.folders ?? temporaryFolders();
    const failures: string[] = [];
    for (const parent of folders) {
      try {
        return this.#listenIn(parent);
      } catch (error) {
        failures.push(`"${parent}": ${(error as Error).message}`);
      }
    }
    throw new SpawnError(
      `Can't start a process: no folder for its socket (${failures.join("; ")}); set TMPDIR to a writable folder`,
      /\(os error (23|24)\)/.test(failures.join()),
    );
  }

  #listenIn(parent: string): OpenListener {
    using cleanup = new DisposableStack();
    // Only this user can open it.
    const folder = Deno.makeTempDirSync({ dir: parent, prefix: "jobs-" });
    cleanup.defer(() => Deno.removeSync(folder, { recursive: true }));
    const address = `${folder}/socket`;
    const listener = cleanup.use(Deno.listen({ transport: "unix", path: address }));
    const stop = new AbortController();
    cleanup.defer(() => stop.abort());
    void acceptAll(listener, (socket) => void this.#greet(socket), { ...this.#options, signal: stop.signal });
    const opened = cleanup.move();
    return {
      address,
      close() {
        try {
          opened.dispose();
        } catch {
          // The folder has been deleted.
        }
      },
    };
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

/** Returns the folders for the socket's folder, in order of preference. At least one is writable in a container with a read-only root. */
function temporaryFolders(): string[] {
  const { XDG_RUNTIME_DIR, TMPDIR, HOME } = Deno.env.toObject();
  return [XDG_RUNTIME_DIR, TMPDIR, "/tmp", "/dev/shm", HOME].filter((one) =>
    one !== undefined && one !== ""
  ) as string[];
}
