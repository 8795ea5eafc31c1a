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
 * @param options.cwd the folder that a command with a slash is relative to
 * @param options.path the folders of other commands
 * @param options.user the user that it runs as, with the user's groups
 * @throws {Deno.errors.NotFound} if there is no such program
 * @throws {Deno.errors.PermissionDenied} if it isn't executable
 */
export function endingWithWorker(
  [program, ...args]: readonly string[],
  { cwd = ".", path: folders, user }: {
    readonly cwd?: string | undefined;
    readonly path?: string | undefined;
    readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  } = {},
): readonly string[] {
  const tools = [inPath("setpriv"), inPath("sh")];
  const path = isAbsolute(program!) || program!.includes("/") ? resolve(cwd, program!) : inPath(program!, folders);
  const [setpriv, sh] = tools;
  if (setpriv === undefined || sh === undefined) return [path ?? program!, ...args];
  // The shell would report it as an exit code.
  if (path === undefined) throw new Deno.errors.NotFound(program);
  const { isFile, mode } = Deno.statSync(path);
  if (!isFile || ((mode ?? 0) & 0o111) === 0) throw new Deno.errors.PermissionDenied(program);
  const as = user === undefined ? [] : ["--reuid", `${user.uid}`, "--regid", `${user.gid}`, "--init-groups"];
  return [setpriv, ...as, "--pdeathsig", "KILL", "--", sh, "-c", BEGIN, `${Deno.pid}`, path, ...args];
}

/** Returns the path of an executable file in one of the folders of PATH. */
export function inPath(name: string, path = Deno.env.get("PATH") ?? "/usr/bin:/bin"): string | undefined {
  for (const folder of path.split(":")) {
    const file = join(folder === "" ? "." : folder, name);
    try {
      const { isFile, mode } = Deno.statSync(file);
      if (isFile && ((mode ?? 0) & 0o111) !== 0) return resolve(file);
    } catch {
      // The next folder may have it.
    }
  }
  return undefined;
}
