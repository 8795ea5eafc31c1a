/**
 * Opens a socket for the child processes of this process. It is in a folder that only this user can open: no other local user
 * can reach it. A name in Linux's abstract space would be readable in `/proc/net/unix`, and anyone could connect. Deno 2.8.3
 * can't close a connection that sends nothing (denoland/deno#35292), so they would stay open until no file descriptor is free.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import { SpawnError } from "./spawn_self.ts";

export interface PrivateSocketOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The folders for the socket's folder, in order of preference. Default: {@linkcode temporaryFolders}. */
  readonly folders?: readonly string[];
}

export interface PrivateSocket {
  readonly address: string;
  /** Whether its file is gone: a logout or a cleanup of old files has deleted it, and no process can connect. */
  readonly isGone: boolean;
  /** Closes it, and deletes its folder. Open connections stay. */
  close(): void;
}

/**
 * Opens a socket, and calls `onConnection` for each connection.
 *
 * @throws {SpawnError} if it cannot be opened in any of the folders
 */
export function openPrivateSocket(
  onConnection: (socket: Deno.Conn) => void,
  options: PrivateSocketOptions,
): PrivateSocket {
  const failures: string[] = [];
  for (const parent of options.folders ?? temporaryFolders()) {
    try {
      return openIn(parent, onConnection, options);
    } catch (error) {
      failures.push(`"${parent}": ${(error as Error).message}`);
    }
  }
  throw new SpawnError(
    `Can't start a process: no folder for its socket (${failures.join("; ")}); set TMPDIR to a writable folder`,
    /\(os error (23|24)\)/.test(failures.join()),
  );
}

function openIn(
  parent: string,
  onConnection: (socket: Deno.Conn) => void,
  options: PrivateSocketOptions,
): PrivateSocket {
  using cleanup = new DisposableStack();
  // Only this user can open it.
  const folder = Deno.makeTempDirSync({ dir: parent, prefix: "jobs-" });
  cleanup.defer(() => Deno.removeSync(folder, { recursive: true }));
  const address = `${folder}/socket`;
  const listener = cleanup.use(Deno.listen({ transport: "unix", path: address }));
  const stop = new AbortController();
  cleanup.defer(() => stop.abort());
  void acceptAll(listener, onConnection, { ...options, signal: stop.signal });
  const opened = cleanup.move();
  return {
    address,
    get isGone() {
      return !exists(address);
    },
    close() {
      try {
        opened.dispose();
      } catch {
        // The folder has been deleted.
      }
    },
  };
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Returns the folders for the socket's folder, in order of preference. At least one is writable in a container with a read-only root. */
function temporaryFolders(): string[] {
  const { XDG_RUNTIME_DIR, TMPDIR, HOME } = Deno.env.toObject();
  return [XDG_RUNTIME_DIR, TMPDIR, "/tmp", "/dev/shm", HOME].filter((one) =>
    one !== undefined && one !== ""
  ) as string[];
}

/** The pause after a connection that couldn't be accepted. */
const PAUSE_MS = 100;

/**
 * Calls `onConnection` for each connection. Resolves when the listener is closed; never rejects. A connection that can't be
 * accepted, for example because too many files are open, waits in the kernel until the next try. Logs the first of several
 * failures in a row, and the recovery.
 *
 * @param options.signal ends the pause after a failure. The caller closes the listener, too
 */
export async function acceptAll(
  listener: Pick<Deno.Listener, "accept">,
  onConnection: (connection: Deno.Conn) => void,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  for (let failures = 0;;) {
    try {
      const connection = await listener.accept();
      if (failures > 0) log.info("Accepting connections again");
      failures = 0;
      onConnection(connection);
    } catch (error) {
      if (signal.aborted || isClosed(error)) return;
      if (failures++ === 0) {
        log.error("Can't accept a connection, retrying", { error: (error as Error).message });
      }
      await clock.sleep(PAUSE_MS, signal);
    }
  }
}

function isClosed(error: unknown): boolean {
  return error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted;
}
