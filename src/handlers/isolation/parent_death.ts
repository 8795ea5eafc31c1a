/**
 * A horse must not outlive its parent, not even when the parent is killed with `kill -9` while a handler spins in the
 * horse. The kernel sees to it: it kills the horse when its parent ends. Linux only, as the whole of `jobs run` is.
 *
 * @module
 */

/** `PR_SET_PDEATHSIG` of prctl(2): the signal to get when the parent ends; it may come several times. */
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9n;

/**
 * From now on this process is killed when its parent ends.
 *
 * @param parent the parent's process number; if it is no longer the parent, it ended before we could ask
 * @returns whether the parent is still there
 */
export function dieWithParent(parent: number): boolean {
  const libc = Deno.dlopen("libc.so.6", { prctl: { parameters: ["i32", "u64"], result: "i32" } });
  libc.symbols.prctl(PR_SET_PDEATHSIG, SIGKILL);
  libc.close();
  return Deno.ppid === parent;
}
