/**
 * The pidfile: contains the number of this process, and prevents a second one from starting.
 *
 * @module
 */

/** Another process has the pidfile, or it cannot be written. The message is one line for people. */
export class PidfileError extends Error {
  override readonly name = "PidfileError";
}

/**
 * Writes this process's number into a file, which is removed when disposed.
 *
 * @throws {PidfileError} if the file names a live process, or cannot be written
 */
export async function writePidfile(path: string): Promise<AsyncDisposable> {
  try {
    const holder = await holderOf(path);
    if (holder !== undefined) {
      throw new PidfileError(`Pidfile "${path}" names process ${holder}, which is alive; stop that one first`);
    }
    // Its process has ended.
    await Deno.remove(path).catch(() => {});
    await Deno.writeTextFile(path, `${Deno.pid}\n`, { createNew: true, mode: 0o644 });
  } catch (error) {
    if (error instanceof PidfileError) throw error;
    throw new PidfileError(`Pidfile "${path}" cannot be written: ${reasonOf(error)}`);
  }
  return {
    async [Symbol.asyncDispose]() {
      const text = await Deno.readTextFile(path).catch(() => "");
      if (Number(text) === Deno.pid) await Deno.remove(path).catch(() => {});
    },
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.AlreadyExists) return "another process was first";
  if (error instanceof Deno.errors.NotFound) return "the folder doesn't exist; create it, or name another file";
  if (error instanceof Deno.errors.IsADirectory) return "it is a folder; name a file in it";
  return (error as Error).message;
}

/** Returns the live process that the file names. In a container, an old file may contain this process's number. */
async function holderOf(path: string): Promise<number | undefined> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  if (!/^\d+\s*$/.test(text)) {
    throw new PidfileError(`Pidfile "${path}" holds something else than a process number; name another file`);
  }
  const pid = Number(text);
  if (pid === Deno.pid) return undefined;
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  // The name before its state, in parentheses, may contain anything.
  return stat === "" || /^ [ZX]/.test(stat.slice(stat.lastIndexOf(")") + 1)) ? undefined : pid;
}
