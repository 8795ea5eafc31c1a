/**
 * Child processes that lead a process group. They can be killed together with all processes that they have started, and
 * don't receive the signals that a terminal sends to its foreground group.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

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

/** Sends a signal to all descendants of a process, and to the groups that they lead. */
export async function signalDescendants(ancestor: number, signal: Deno.Signal): Promise<void> {
  for (const pid of await descendantsOf(ancestor)) {
    if (killGroup(pid, signal)) continue;
    try {
      Deno.kill(pid, signal);
    } catch {
      // It has ended.
    }
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

/** A longer line is truncated to this many characters. */
const MAX_LINE = 10_000;
/** The output of a child that has ended is complete when nothing has arrived for this long. */
const QUIET_MS = 250;
/** A process that a child has left behind may print without end: its output is read for this many times {@linkcode QUIET_MS}. */
const MAX_QUIET_LOOKS = 8;

/**
 * Reads the output of a child until its end. A daemon that the child has left behind may hold the pipe open: once the child has
 * ended, reading stops when nothing more arrives. Never rejects.
 *
 * @param ended resolves when the child has ended
 */
export async function readOutput(
  stream: ReadableStream<Uint8Array>,
  { ended, clock }: { readonly ended: Promise<unknown>; readonly clock: Clock },
  onBytes: (bytes: Uint8Array) => void,
): Promise<void> {
  const reader = stream.getReader();
  const done = new AbortController();
  let chunks = 0;
  const stopWhenQuiet = async () => {
    for (let look = 0, seen = -1; look < MAX_QUIET_LOOKS && seen !== chunks; look++) {
      seen = chunks;
      await clock.sleep(QUIET_MS, done.signal);
      if (done.signal.aborted) return;
    }
    await reader.cancel();
  };
  void ended.then(stopWhenQuiet).catch(() => {});
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      chunks++;
      onBytes(read.value);
    }
  } catch {
    // The pipe is closed.
  } finally {
    done.abort("read");
  }
}

/** Calls `onLine` for each line of the output of a child, and `onBytes` for its bytes. See {@linkcode readOutput}. */
export async function eachLine(
  stream: ReadableStream<Uint8Array>,
  child: { readonly ended: Promise<unknown>; readonly clock: Clock },
  onLine: (line: string) => void,
  onBytes?: (bytes: Uint8Array) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  await readOutput(stream, child, (bytes) => {
    onBytes?.(bytes);
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop()!.slice(0, MAX_LINE);
    for (const line of lines) if (line !== "") onLine(line.slice(0, MAX_LINE));
  });
  if (rest !== "") onLine(rest);
}

/** Returns the resident memory of a process in bytes; 0 if it has ended. */
export async function memoryOf(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

/** Returns the process IDs of the descendants of a process, its children first. Empty where there is no `/proc`. */
export async function descendantsOf(ancestor: number): Promise<number[]> {
  const children = new Map<number, number[]>();
  try {
    for await (const { name } of Deno.readDir("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      const stat = await Deno.readTextFile(`/proc/${name}/stat`).catch(() => "");
      // The name of the program, in parentheses, may contain any character.
      const [, ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const siblings = children.get(Number(ppid));
      if (siblings === undefined) children.set(Number(ppid), [Number(name)]);
      else siblings.push(Number(name));
    }
  } catch {
    // A bare root without /proc, or a program with few permissions.
  }
  const descendants = [...children.get(ancestor) ?? []];
  for (const pid of descendants) descendants.push(...children.get(pid) ?? []);
  return descendants;
}
