/**
 * A container in a few lines of shell: a separate read-only root with `/proc`, a volume and the
 * handlers; a PID namespace, in which jobs is process 1; an unprivileged user.
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
 * Returns the command that starts `/usr/bin/jobs` in the container.
 *
 * @param volume the folder that becomes `/var/lib/jobs`, the only writable one
 */
export function containerCommand(rootfs: string, volume: string): string[] {
  requireRoot();
  const handlers = new URL("./", import.meta.url).pathname;
  return [
    ...["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, rootfs, volume, handlers],
    "/usr/bin/jobs",
  ];
}

/** Returns the child of a process, as seen from outside. */
export async function childOf(pid: number): Promise<number | undefined> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`).catch(() => "");
  return text === "" ? undefined : Number(text.split(" ")[0]);
}
