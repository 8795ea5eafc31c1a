/**
 * Commands that end with this process, however it ends.
 *
 * @module
 */
import { isAbsolute, join, resolve } from "node:path";

/** The worker may have ended before the request: then the program must not begin. */
const BEGIN = '[ "$PPID" = "$0" ] && exec "$@"; exit 137';
/** The names of variables that every shell passes on. */
const IDENTIFIER = /^[A-Za-z_]\w*$/;

/**
 * Returns a command that ends with this process, even if that is killed with `kill -9`: its job runs again then, and both runs
 * would act at once. The kernel kills the program when its parent ends, if `setpriv` (util-linux) requests that before the program
 * begins. An image made from scratch has no `setpriv`, so the command stays the same. There the end of process 1 ends all.
 *
 * @param options.cwd the folder that a command with a slash is relative to
 * @param options.env variables in addition to those of this process. `PATH` has the folders of other commands
 * @param options.user the user that it runs as, with the user's groups
 * @throws {Deno.errors.NotFound} if there is no such program
 * @throws {Deno.errors.PermissionDenied} if it isn't executable
 */
export function endingWithWorker(
  [program, ...args]: readonly string[],
  { cwd = ".", env = {}, user }: {
    readonly cwd?: string | undefined;
    readonly env?: Readonly<Record<string, string>>;
    readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  } = {},
): readonly string[] {
  const [setpriv, shell] = [inPath("setpriv"), shellFor(env)];
  const path = isAbsolute(program!) || program!.includes("/") ? resolve(cwd, program!) : inPath(program!, env.PATH);
  if (setpriv === undefined || shell === undefined) return [path ?? program!, ...args];
  // The shell would report it as an exit code.
  if (path === undefined) throw new Deno.errors.NotFound(program);
  const { isFile, mode } = Deno.statSync(path);
  if (!isFile || ((mode ?? 0) & 0o111) === 0) throw new Deno.errors.PermissionDenied(program);
  const as = user === undefined ? [] : ["--reuid", `${user.uid}`, "--regid", `${user.gid}`, "--init-groups"];
  return [setpriv, ...as, "--pdeathsig", "KILL", "--", ...shell, "-c", BEGIN, `${Deno.pid}`, path, ...args];
}

/**
 * Returns a shell that passes all variables on. dash, Debian's `sh`, drops those whose name isn't an identifier, such as
 * `spring.profiles.active`; bash doesn't.
 */
function shellFor(env: Readonly<Record<string, string>>): readonly string[] | undefined {
  const isPlain = [...variableNames(), ...Object.keys(env)].every((name) => IDENTIFIER.test(name));
  const bash = isPlain ? undefined : inPath("bash");
  // Else it would run the file that BASH_ENV names.
  if (bash !== undefined) return [bash, "--posix"];
  const sh = inPath("sh");
  return sh === undefined ? undefined : [sh];
}

function variableNames(): string[] {
  try {
    return Object.keys(Deno.env.toObject());
  } catch {
    return []; // a program with few permissions
  }
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
