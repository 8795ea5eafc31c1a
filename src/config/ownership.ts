/**
 * Decides whether a file that no one named may be used. `jobs` reads `jobs.json` in whichever folder it is started, and loads
 * the handlers that the file names: in a folder that others may write to, it would run their code as this user.
 *
 *  1. The file and its folder must belong to this user or to root, and no other user may write to them. A symbolic link, its
 *     file and the file's folder are each checked.
 *  2. Under `sudo`, files of the user who called it count too, as with git: that user may become root anyway.
 *  3. A group may write if it is this user's primary group, which on most desktops has no other member, or root's, to which
 *     platforms with random user IDs give the files of an image. Any other group counts as others.
 *  4. A sticky folder such as `/tmp` counts as writable: anyone can put a link to a file of this user there.
 *
 *  5. In a container, the files that are mounted belong to a user of the host, whatever its number means inside. There the
 *     variable `JOBS_TRUSTED_FOLDER`, which our image sets to its working directory, names a folder whose files count.
 *
 * @module
 */

/** The user and the primary group of this process, and the user who called `sudo`. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
  readonly sudoUid?: number;
}

/** Returns the identity of this process; undefined on systems without user IDs. */
export function ownIdentity(env: (name: string) => string | undefined): Identity | undefined {
  const [uid, gid] = [Deno.uid(), Deno.gid()];
  if (uid === null || gid === null) return undefined;
  const sudo = uid === 0 ? env("SUDO_UID") : undefined;
  return { uid, gid, ...(sudo !== undefined && /^\d+$/.test(sudo) && { sudoUid: Number(sudo) }) };
}

/** Names a folder whose files count with any owner. */
export const TRUSTED_FOLDER = "JOBS_TRUSTED_FOLDER";

/**
 * Returns why a file that was found, not named, must not be used, as the end of a sentence; undefined if it may be used.
 *
 * @throws {Deno.errors.NotFound} if it doesn't exist
 */
export function whyUntrusted(
  path: string,
  env: (name: string) => string | undefined,
  self: Identity | undefined = ownIdentity(env),
): string | undefined {
  const trusted = env(TRUSTED_FOLDER);
  if (self === undefined || trusted && isWithin(Deno.realPathSync(folderOf(path)), trusted)) return undefined;
  const real = Deno.realPathSync(path);
  // A link has two folders, and others may be able to write to the second one.
  for (const one of new Set([path, folderOf(path), real, folderOf(real)])) {
    const why = whyForeign(Deno.lstatSync(one), self);
    if (why !== undefined) return `${one === path || one === real ? "it" : "its folder"} ${why}`;
  }
  return undefined;
}

function isWithin(folder: string, trusted: string): boolean {
  const end = trusted.replace(/\/+$/, "");
  return folder === end || folder.startsWith(`${end}/`);
}

/** The owner and the permissions of a file or a folder. */
type Owned = Pick<Deno.FileInfo, "uid" | "gid" | "mode" | "isSymlink">;

/** Returns why a file or a folder is under the control of others; undefined if it isn't. */
export function whyForeign({ uid, gid, mode, isSymlink }: Owned, self: Identity): string | undefined {
  if (uid === null || mode === null) return undefined;
  if (![0, self.uid, self.sudoUid].includes(uid)) return `belongs to another user (UID ${uid})`;
  // The mode of a link is always 0777: who may change it is decided by its folder.
  if (isSymlink) return undefined;
  if ((mode & 0o002) !== 0) return "is writable by all users";
  if ((mode & 0o020) !== 0 && gid !== null && ![0, self.gid].includes(gid)) {
    return `is writable by another group (GID ${gid})`;
  }
  return undefined;
}

function folderOf(path: string): string {
  const end = path.replace(/\/+$/, "").lastIndexOf("/");
  return end < 0 ? "." : path.slice(0, end) || "/";
}
