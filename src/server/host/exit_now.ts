/**
 * Ends this process without its event loop: for a thread, while the main thread is blocked, and for the kernel's timer.
 *
 * @module
 */

/** The C library of every platform that a worker runs on. */
export const LIBC = "libc.so.6";

/**
 * Ends this process at once. From a thread, `Deno.exit` would end only the thread, and a signal has no default action in process
 * 1 of a container.
 */
export function exitNow(code: number): void {
  try {
    const { symbols } = Deno.dlopen(LIBC, { _exit: { parameters: ["i32"], result: "void" } });
    symbols._exit(code);
  } catch {
    Deno.kill(Deno.pid, "SIGKILL");
  }
}
