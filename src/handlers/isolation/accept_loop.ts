/**
 * Accepts connections until the listener is closed. If a connection cannot be accepted, for example because too many files
 * are open, it waits in the kernel, and the loop tries again after a pause.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";

/** The pause after a failure. */
const PAUSE_MS = 100;

/**
 * Calls `onConnection` for each connection. Resolves when the listener is closed; never rejects. Logs the first of several
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
