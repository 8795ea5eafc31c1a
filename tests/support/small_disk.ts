/**
 * A disk of a given size, in memory. Needs root.
 *
 * @module
 */
import { MissingTool, requireRoot } from "./tools.ts";

/** A mounted disk. */
export interface SmallDisk extends AsyncDisposable {
  readonly dir: string;
  /** Changes its size, such as `16m`. */
  resize(size: string): Promise<void>;
}

/** @throws {MissingTool} without the permission to mount */
export async function requireMount(): Promise<void> {
  requireRoot();
  await mountDisk("1m").then((disk) => disk[Symbol.asyncDispose](), () => {
    throw new MissingTool("permission to mount required");
  });
}

/** Mounts a disk of this size, such as `4m`. */
export async function mountDisk(size: string): Promise<SmallDisk> {
  const dir = await Deno.makeTempDir({ prefix: "jobs-disk-" });
  try {
    await run("mount", "-t", "tmpfs", "-o", `size=${size}`, "tmpfs", dir);
  } catch (error) {
    await Deno.remove(dir);
    throw error;
  }
  return {
    dir,
    resize: (size) => run("mount", "-o", `remount,size=${size}`, dir),
    async [Symbol.asyncDispose]() {
      await run("umount", dir);
      await Deno.remove(dir);
    },
  };
}

/** @throws {Error} if the command fails or doesn't exist */
async function run(command: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args }).output();
  if (!success) throw new Error(`${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}
