/**
 * Starts this program once more, as a child process.
 *
 * @module
 */
import { selfCommand } from "./respawn.ts";

/** How a child process is started. */
export interface SpawnOptions {
  /** After the program's own. */
  readonly args: readonly string[];
  /** Added to this process's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Where its standard output and error go. */
  readonly output: "piped" | "inherit";
}

/** A child process can't be started. */
export class SpawnError extends Error {
  /** Distinguishes it from other errors. */
  override readonly name = "SpawnError";
  /** Whether the machine lacks something that it may have again soon: file descriptors, processes, memory. */
  readonly transient: boolean;

  constructor(message: string, transient: boolean) {
    super(message);
    this.transient = transient;
  }
}

/** `EAGAIN`, `ENOMEM`, `ENFILE` and `EMFILE` of errno(3), as Deno writes them into an error's message. */
const SHORTAGE = /\(os error (11|12|23|24)\)/;
/** Starting a child process takes 8 on Linux, a `Worker` 6, and the store and handlers open files meanwhile. */
const NEEDED_DESCRIPTORS = 16;

/**
 * Starts this program with other arguments, as the leader of a process group and with an empty standard input. Call
 * {@linkcode checkDescriptors} before.
 *
 * @throws {SpawnError} when it can't be started
 */
export function spawnSelf({ args, env, output }: SpawnOptions): Deno.ChildProcess {
  const { program, args: first } = selfCommand();
  return attempt(() => {
    const child = new Deno.Command(program, {
      args: [...first, ...args],
      env: { ...env },
      // Not "null": a bare root has no /dev/null.
      stdin: "piped",
      stdout: output,
      stderr: output,
      detached: true,
    }).spawn();
    child.stdin.close().catch(() => {}); // the child has ended
    return child;
  });
}

/**
 * Calls a function that starts a child process, or prepares that.
 *
 * @throws {SpawnError} for an error of the operating system
 */
export function attempt<Result>(start: () => Result): Result {
  try {
    return start();
  } catch (error) {
    if (error instanceof SpawnError) throw error;
    const { message } = error as Error;
    throw new SpawnError(`Can't start a process: ${message}`, SHORTAGE.test(message));
  }
}

/**
 * Checks that enough files can be opened to start a child process or a `Worker`.
 *
 * Without it, a shortage ends this process: Deno 2.8.3 panics when it can't create a `Worker`, and also when it runs from
 * sources and an operation fails that isn't asynchronous, because it opens files to find the error's line.
 *
 * @throws {SpawnError} when the limit is reached
 */
export async function checkDescriptors(): Promise<void> {
  const files: Deno.FsFile[] = [];
  try {
    while (files.length < NEEDED_DESCRIPTORS) files.push(await Deno.open("/proc/self/stat"));
  } catch (error) {
    const { message } = error as Error;
    throw new SpawnError(`Can't start a process: ${message}`, SHORTAGE.test(message));
  } finally {
    for (const file of files) file.close();
  }
}
