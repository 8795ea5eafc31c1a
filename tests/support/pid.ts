/**
 * Processes that a test knows only by their process ID: those that a worker started.
 *
 * @module
 */

/** Returns whether a process, or one of its threads, is running. Until its end, its files may be open. */
export async function isRunning(pid: number): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  if (stat === "") return false;
  const threads = await Array.fromAsync(Deno.readDir(`/proc/${pid}/task`)).catch(() => []);
  return threads.length > 1 || !/\) [ZX]/.test(stat);
}

/** Sends a signal to a process that may have ended. */
export function signalIfRunning(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
