/**
 * Child processes that lead a process group. They can be killed together with all processes that they have started, and
 * don't receive the signals that a terminal sends to its foreground group.
 *
 * @module
 */

/**
 * Sends a signal to a child that was started with `detached: true`, and to all processes of its group.
 *
 * @returns false if the group has no process
 */
export function killGroup(pid: number, signal: Deno.Signal): boolean {
  try {
    Deno.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Returns how a child ended, as a predicate: `was killed by SIGSEGV`, `exited with code 3`. */
export function howItEnded(status: Deno.CommandStatus): string {
  return status.signal === null ? `exited with code ${status.code}` : `was killed by ${status.signal}`;
}

/** Returns how a child ended, as a cause: `killed by signal 9 (SIGKILL)`, `exited with code 3`. */
export function causeOfEnd({ signal, code }: Deno.CommandStatus): string {
  return signal === null ? `exited with code ${code}` : `killed by signal ${code - 128} (${signal})`;
}

/** Calls `onLine` for each line of a stream, truncated to `maxLength` characters. Resolves at the end of the stream. */
export async function eachLine(
  stream: ReadableStream<Uint8Array>,
  onLine: (line: string) => void,
  maxLength = 10_000,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop()!.slice(0, maxLength);
    for (const line of lines) if (line !== "") onLine(line.slice(0, maxLength));
  }
  if (rest !== "") onLine(rest);
}

/** Returns the resident memory of a process in bytes; 0 if it has ended. */
export async function memoryOf(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

/** Returns the process IDs of the children of a process. Empty where there is no `/proc`. */
export async function childrenOf(parent: number): Promise<number[]> {
  const children: number[] = [];
  try {
    for await (const { name } of Deno.readDir("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      const stat = await Deno.readTextFile(`/proc/${name}/stat`).catch(() => "");
      // The name of the program, in parentheses, may contain any character.
      const [, ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(ppid) === parent) children.push(Number(name));
    }
  } catch {
    // A bare root without /proc, or a program with few permissions.
  }
  return children;
}
