/**
 * The user that a program runs as, and what the configuration of a program may get wrong: found at the start of the worker,
 * not by the first job.
 *
 * @module
 */
import type { Program } from "../../job/program.ts";
import { inPath } from "./ending_with_worker.ts";

/** An entry of the user database. */
export interface ProgramUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** Returns why a program can't run here, in one line; undefined if it can. */
export function programProblem({ class: name, cwd, user }: Program): string | undefined {
  const about = `exec of class "${name}"`;
  if (cwd !== undefined && !isFolder(cwd)) return `${about}: "cwd" ${JSON.stringify(cwd)}: no such folder`;
  if (user === undefined) return undefined;
  const found = findUser(user);
  if (found === undefined) return `${about}: user ${JSON.stringify(user)} doesn't exist`;
  const uid = Deno.uid();
  if (found.uid === uid) return undefined;
  if (uid !== 0) {
    return `${about}: only root can run programs as user "${user}"; start a worker as ${user}, with its queue`;
  }
  return inPath("setpriv") === undefined ? `${about}: "user" needs setpriv (util-linux) on PATH` : undefined;
}

/** Returns the user of a name; undefined if there is none. */
export function findUser(name: string): ProgramUser | undefined {
  return userIn(readText("/etc/passwd"), name) ?? userIn(readDirectory(name), name);
}

function userIn(passwd: string, name: string): ProgramUser | undefined {
  const line = passwd.split("\n").find((one) => one.startsWith(`${name}:`));
  const [, , uid, gid, , home] = line?.split(":") ?? [];
  return uid === undefined || gid === undefined
    ? undefined
    : { name, uid: Number(uid), gid: Number(gid), home: home || "/" };
}

/** Reads a user from LDAP and other directories. */
function readDirectory(name: string): string {
  const getent = inPath("getent");
  if (getent === undefined) return "";
  const { success, stdout } = new Deno.Command(getent, { args: ["passwd", "--", name], stderr: "null" }).outputSync();
  return success ? new TextDecoder().decode(stdout) : "";
}

function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

/** Returns whether a folder exists. */
export function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}
