/**
 * What a container engine does, in a few lines of shell: a root of its own, read-only, with `/proc`, a volume and the
 * handlers; a PID namespace, where it is process 1; a user that is not root and can become no other.
 *
 * @module
 */
import { requireRoot } from "./tools.ts";

const ENTER = `
mount --bind "$0" "$0"
mount -t proc proc "$0/proc"
mount --bind "$1" "$0/var/lib/jobs"
mount --bind "$2" "$0/app"
mount -o remount,bind,ro "$0"
root=$0
shift 2
cd "$root"
exec setpriv --no-new-privs chroot --userspec=65532:65532 --groups= "$root" "$@"
`;

/**
 * The command that starts `/usr/bin/jobs` in there.
 *
 * @param volume the folder that is `/var/lib/jobs` in there, and all that can be written
 */
export function containerCommand(rootfs: string, volume: string): string[] {
  requireRoot();
  const handlers = new URL("./", import.meta.url).pathname;
  return [
    ...["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, rootfs, volume, handlers],
    "/usr/bin/jobs",
  ];
}

/** The process that a process started, as seen from out here. */
export async function childOf(pid: number): Promise<number | undefined> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`).catch(() => "");
  return text === "" ? undefined : Number(text.split(" ")[0]);
}
