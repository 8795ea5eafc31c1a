/**
 * Children that lead a process group of their own, so that they can be ended with everything they have started, and so
 * that what a terminal sends to its foreground does not reach them.
 *
 * @module
 */

/**
 * Sends a signal to a child that was started with `detached: true`, and to all that it has started.
 *
 * @returns false when none of them is left
 */
export function killGroup(pid: number, signal: Deno.Signal): boolean {
  try {
    Deno.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** How a child ended, in words: `was killed by SIGSEGV`, `exited with code 3`. */
export function howItEnded(status: Deno.CommandStatus): string {
  return status.signal === null ? `exited with code ${status.code}` : `was killed by ${status.signal}`;
}

/** How a child ended, as the cause of something: `killed by signal 9 (SIGKILL)`, `exited with code 3`. */
export function causeOfEnd({ signal, code }: Deno.CommandStatus): string {
  return signal === null ? `exited with code ${code}` : `killed by signal ${code - 128} (${signal})`;
}

/** Hands on what a child prints, line by line; the rest of a longer line is dropped. Ends with the stream. */
export async function eachLine(
  stream: ReadableStream<Uint8Array>,
  onLine: (line: string) => void,
  longest = 10_000,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop()!.slice(0, longest);
    for (const line of lines) if (line !== "") onLine(line.slice(0, longest));
  }
  if (rest !== "") onLine(rest);
}

/** Resident memory of a process in bytes; 0 when it has ended. */
export async function memoryOf(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
