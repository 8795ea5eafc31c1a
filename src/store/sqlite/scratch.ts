/**
 * A store beside another one, on the same disk, for a while. Whoever uses it holds a lock in its folder, which ends with
 * the process: what a killed bench has left there is taken away by a later one.
 *
 * @module
 */
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Clock, systemClock } from "../../clock.ts";
import { StoreError } from "../port/errors.ts";
import type { Scratch, ScratchOptions } from "../open_scratch.ts";
import { parseAddress } from "./address.ts";

const PREFIX = "jobs-bench-";
/** The file that is locked. */
const OWNER = "owner";
/** A younger folder may not be locked yet. */
const SETTLED_MS = 60_000;

/**
 * Makes a folder beside the file of the store at `url`, for a database of its own; gone when disposed.
 *
 * @throws {StoreError} `missing` when there is no such place, and it is not to be made; `denied` when it cannot be used
 */
export async function sqliteScratch(url: string, options: ScratchOptions): Promise<Scratch> {
  const { create = true, clock = systemClock } = options;
  const { path, durability } = parseAddress(url, Deno.env.get("HOME"));
  try {
    const beside = path === ":memory:" ? tmpdir() : dirname(path);
    if (create) await Deno.mkdir(beside, { recursive: true, mode: 0o700 });
    await sweep(beside, clock);
    const dir = await Deno.makeTempDir({ dir: beside, prefix: PREFIX });
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
        `There is no folder "${dirname(path)}" to measure in; give the address of a store`,
      );
    }
    const why = (error as Error).message;
    throw new StoreError("denied", `No database for measuring can be made beside "${path}": ${why}`, { cause: error });
  }
}

/** Takes away the folders of ours whose users are gone. What cannot be is left. */
async function sweep(beside: string, clock: Clock): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(beside)) {
    if (isDirectory && name.startsWith(PREFIX)) await removeAbandoned(join(beside, name), clock).catch(() => {});
  }
}

async function removeAbandoned(dir: string, clock: Clock): Promise<void> {
  const { uid, mtime } = await Deno.lstat(dir);
  if (uid !== Deno.uid() || clock.now() - mtime!.getTime() < SETTLED_MS) return;
  // Killed before it had made the file: then it is ours.
  using owner = await Deno.open(join(dir, OWNER), { write: true, create: true });
  if (await owner.tryLock(true)) await Deno.remove(dir, { recursive: true });
}
