/**
 * The processes of the machine as `/proc` shows them.
 *
 * @module
 */

/** Returns the processes that a process has started and that still run. */
export function childrenOf(pid: number): number[] {
  try {
    return [...Deno.readDirSync(`/proc/${pid}/task`)].flatMap(({ name }) =>
      Deno.readTextFileSync(`/proc/${pid}/task/${name}/children`).split(" ").filter(Boolean).map(Number)
    );
  } catch {
    return []; // It has ended.
  }
}

/** Returns the state of a process by its letter in `/proc`: `R` runs, `S` and `D` wait, `T` is stopped, `Z` has ended; `X` if it is gone. */
export function stateOf(pid: number): string {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ")[1]!.charAt(0);
  } catch {
    return "X";
  }
}

/** Returns the processes that were started with this variable in their environment, and their commands. */
export function withVariable(variable: string): { readonly pid: number; readonly command: string }[] {
  return [...Deno.readDirSync("/proc")].flatMap(({ name }) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      if (!Deno.readTextFileSync(`/proc/${name}/environ`).split("\0").includes(variable)) return [];
      const command = Deno.readTextFileSync(`/proc/${name}/cmdline`).replaceAll("\0", " ");
      return command === "" ? [] : [{ pid: Number(name), command }];
    } catch {
      return []; // It has ended, or is another user's.
    }
  });
}

/** Sends a signal; returns false when the process has ended. */
export function signal(pid: number, name: Deno.Signal): boolean {
  try {
    Deno.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

/** SQLite's lock of the writer, a byte of the file `-shm`. */
const WRITER_BYTE = 120;

/** Returns whether a process is SQLite's writer: while it is frozen, no other process can write. */
export function isWriter(pid: number): boolean {
  return new RegExp(`POSIX +ADVISORY +WRITE +${pid} +\\S+ +${WRITER_BYTE} `).test(Deno.readTextFileSync("/proc/locks"));
}
