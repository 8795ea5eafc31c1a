/**
 * The one clock of a soak. All processes of a machine read the same value, and a jump of the wall clock does not move it.
 *
 * @module
 */

/** Returns the milliseconds since the machine started, in steps of 10 ms. */
export function uptime(): number {
  return Math.round(Number(Deno.readTextFileSync("/proc/uptime").split(" ")[0]) * 1_000);
}

/** Resolves after this many milliseconds, or when `signal` aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted || ms <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}
