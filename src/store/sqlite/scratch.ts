/**
 * A temporary store next to another one, on the same disk. Its user holds a lock in its folder, which ends with the process: a
 * later bench removes the folder of a killed one.
 *
 * @module
 */
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Clock, systemClock } from "../../clock.ts";
import { StoreError } from "../port/errors.ts";
import type { Scratch, ScratchOptions } from "../open.ts";
import { parseAddress } from "./address.ts";

const PREFIX = "jobs-bench-";
/** The locked file. */
const OWNER = "owner";
/** A younger folder may have no lock yet. */
const MIN_AGE_MS = 60_000;

/**
 * Creates a folder with a database next to the file of the store at `url`. Deletes it when disposed.
 *
 * @throws {StoreError} `missing` if the place doesn't exist and `create` is false; `denied` if it can't be used
 */
export async function sqliteScratch(url: string, options: ScratchOptions): Promise<Scratch> {
  const { create = true, clock = systemClock } = options;
  const { path, durability } = parseAddress(url, Deno.env.get("HOME"));
  try {
    const parent = path === ":memory:" ? tmpdir() : dirname(path);
    if (create) await Deno.mkdir(parent, { recursive: true, mode: 0o700 });
    await sweep(parent, clock);
    const dir = await Deno.makeTempDir({ dir: parent, prefix: PREFIX });
    const owner = await Deno.open(join(dir, OWNER), { write: true, createNew: true });
    await owner.lock(true);
    const query = durability === undefined ? "" : `?durability=${durability}`;
    return {
      url: `sqlite:${join(dir, "jobs.db")}${query}`,
      async [Symbol.asyncDispose]() {
        await Deno.remove(dir, { recursive: true });
        owner.close();
      },
    };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new StoreError(
        "missing",
        `No folder "${dirname(path)}" to measure in; use the address of a store`,
      );
    }
    const why = (error as Error).message;
    throw new StoreError("denied", `Cannot create a database for measuring next to "${path}": ${why}`, {
      cause: error,
    });
  }
}

/** Removes the folders of this user's benches that have ended, as far as possible. */
async function sweep(parent: string, clock: Clock): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(parent)) {
    if (isDirectory && name.startsWith(PREFIX)) await removeAbandoned(join(parent, name), clock).catch(() => {});
  }
}

async function removeAbandoned(dir: string, clock: Clock): Promise<void> {
  const { uid, mtime } = await Deno.lstat(dir);
  if (uid !== Deno.uid() || clock.now() - mtime!.getTime() < MIN_AGE_MS) return;
  // A bench that was killed before it created the file left no lock.
  using owner = await Deno.open(join(dir, OWNER), { write: true, create: true });
  if (await owner.tryLock(true)) await Deno.remove(dir, { recursive: true });
}
