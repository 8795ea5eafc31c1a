/**
 * Whoever connects to a socket of ours, for as long as it is open. A connection that cannot be taken, as when too many
 * files are open, waits in the kernel: the next attempt comes a moment later, and not never.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";

/** After a failure, the next attempt comes so much later. */
const PAUSE_MS = 100;

/**
 * Hands each connection on; resolves when the listener is closed. Never rejects. The first of several failures in a row
 * is logged, and that it works again.
 *
 * @param options.signal ends the pause after a failure; the listener is closed then, too
 */
export async function acceptAll(
  listener: Pick<Deno.Listener, "accept">,
  onConnection: (connection: Deno.Conn) => void,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  for (let failures = 0;;) {
    try {
      const connection = await listener.accept();
      if (failures > 0) log.info("Connections are accepted again");
      failures = 0;
      onConnection(connection);
    } catch (error) {
      if (signal.aborted || isClosed(error)) return;
      if (failures++ === 0) {
        log.error("A connection cannot be accepted, trying again", { error: (error as Error).message });
      }
      await clock.sleep(PAUSE_MS, signal);
    }
  }
}

function isClosed(error: unknown): boolean {
  return error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted;
}
