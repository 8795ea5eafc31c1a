/**
 * Commands that end with this process, however it ends.
 *
 * @module
 */
import { isAbsolute, join, resolve } from "node:path";

/** The worker may have ended before the request: then the program must not begin. */
const BEGIN = '[ "$PPID" = "$0" ] && exec "$@"; exit 137';

/**
 * Returns a command that ends with this process, even if that is killed with `kill -9`: its job runs again then, and both runs
 * would act at once. The kernel kills the program when its parent ends, if `setpriv` (util-linux) requests that before the program
 * begins. An image made from scratch has no `setpriv`, so the command stays the same. There the end of process 1 ends all.
 *
 * @throws {Deno.errors.NotFound} if there is no such program
 * @throws {Deno.errors.PermissionDenied} if it isn't executable
 */
export function endingWithWorker([program, ...args]: readonly string[]): readonly string[] {
  const tools = [inPath("setpriv"), inPath("sh")];
  const path = isAbsolute(program!) || program!.includes("/") ? resolve(program!) : inPath(program!);
  const [setpriv, sh] = tools;
  if (setpriv === undefined || sh === undefined) return [program!, ...args];
  // The shell would report it as an exit code.
  if (path === undefined) throw new Deno.errors.NotFound(program);
  const { isFile, mode } = Deno.statSync(path);
  if (!isFile || ((mode ?? 0) & 0o111) === 0) throw new Deno.errors.PermissionDenied(program);
  return [setpriv, "--pdeathsig", "KILL", "--", sh, "-c", BEGIN, `${Deno.pid}`, path, ...args];
}

/** Returns the path of an executable file in one of the folders of PATH. */
function inPath(name: string): string | undefined {
  for (const folder of (Deno.env.get("PATH") ?? "/usr/bin:/bin").split(":")) {
    const path = join(folder === "" ? "." : folder, name);
    try {
      const { isFile, mode } = Deno.statSync(path);
      if (isFile && ((mode ?? 0) & 0o111) !== 0) return resolve(path);
    } catch {
      // The next folder may have it.
    }
  }
  return undefined;
}
