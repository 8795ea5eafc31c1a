/**
 * Ends a horse together with its parent, even if the parent is killed with `kill -9` while a handler spins in the horse: the
 * kernel kills the horse when its parent ends. Linux only, like `jobs run`.
 *
 * @module
 */

/** `PR_SET_PDEATHSIG` of prctl(2): sets the signal that this process receives when its parent ends. */
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9n;

/**
 * Makes the kernel kill this process when its parent ends.
 *
 * @param parent the process ID of the parent. If this process has another parent now, it ended before this call
 * @returns whether the parent is still running
 */
export function dieWithParent(parent: number): boolean {
  const libc = Deno.dlopen("libc.so.6", { prctl: { parameters: ["i32", "u64"], result: "i32" } });
  libc.symbols.prctl(PR_SET_PDEATHSIG, SIGKILL);
  libc.close();
  return Deno.ppid === parent;
}
