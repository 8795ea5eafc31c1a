/**
 * Starts this program again, as a child process.
 *
 * @module
 */
import { endingWithWorker } from "./ending_with_worker.ts";
import { selfCommand } from "./respawn.ts";

export interface SpawnOptions {
  /** Arguments after those of {@linkcode selfCommand}. */
  readonly args: readonly string[];
  /** Variables to add to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  /** The destination of its standard output and error. */
  readonly output: "piped" | "inherit";
  /** Whether it also ends when this process is killed. */
  readonly endsWithThis?: boolean;
}

/** A child process can't be started. */
export class SpawnError extends Error {
  override readonly name = "SpawnError";
  /** Whether the machine temporarily lacks file descriptors, processes or memory. */
  readonly transient: boolean;

  constructor(message: string, transient: boolean) {
    super(message);
    this.transient = transient;
  }
}

/** Matches `EAGAIN`, `ENOMEM`, `ENFILE` and `EMFILE` of errno(3) in the messages of Deno's errors. */
const SHORTAGE = /\(os error (11|12|23|24)\)/;
/** On Linux a child process needs 8 descriptors and a `Worker` 6. The store and handlers open files at the same time. */
const NEEDED_DESCRIPTORS = 16;

/**
 * Starts this program with other arguments, as the leader of a process group and with an empty standard input. Call
 * {@linkcode checkDescriptors} before.
 *
 * @throws {SpawnError} if it can't be started
 */
export function spawnSelf({ args, env, output, endsWithThis = false }: SpawnOptions): Deno.ChildProcess {
  const self = selfCommand();
  const whole = [self.program, ...self.args, ...args];
  return attempt(() => {
    const [program, ...rest] = endsWithThis ? endingWithWorker(whole) : whole;
    const child = new Deno.Command(program!, {
      args: rest,
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
 * Calls a function that starts a child process, or prepares one.
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

/** Opens a file that exists everywhere: an image made from scratch has no `/dev`, and few programs may read `/proc`. */
async function openAny(): Promise<Deno.FsFile> {
  try {
    return await Deno.open("/dev/null");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return await Deno.open("/proc/self/stat");
    throw error;
  }
}

/**
 * Checks that enough files can be opened to start a child process or a `Worker`.
 *
 * Without this check, a shortage ends this process. Deno 2.8.3 panics if it can't create a `Worker`. When run from sources,
 * it also panics if a synchronous operation fails, because it opens files to find the line of the error.
 *
 * @throws {SpawnError} if the limit is reached
 */
export async function checkDescriptors(): Promise<void> {
  const files: Deno.FsFile[] = [];
  try {
    while (files.length < NEEDED_DESCRIPTORS) files.push(await openAny());
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return; // a program with few permissions runs without the check
    const { message } = error as Error;
    throw new SpawnError(`Can't start a process: ${message}`, SHORTAGE.test(message));
  } finally {
    for (const file of files) file.close();
  }
}
