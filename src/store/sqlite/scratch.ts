/**
 * A store beside another one, on the same disk, for a while.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { StoreError } from "../errors.ts";
import type { Scratch } from "../open_scratch.ts";
import { parseAddress } from "./address.ts";

/** Makes a folder beside the file of the store at `url`, for a database of its own; gone when disposed. */
export async function sqliteScratch(url: string): Promise<Scratch> {
  const { path, durability } = parseAddress(url, Deno.env.get("HOME"));
  try {
    let dir: string;
    if (path === ":memory:") dir = await Deno.makeTempDir({ prefix: "jobs-bench-" });
    else {
      await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
      dir = await Deno.makeTempDir({ dir: dirname(path), prefix: "jobs-bench-" });
    }
    const query = durability === undefined ? "" : `?durability=${durability}`;
    return {
      url: `sqlite:${join(dir, "jobs.db")}${query}`,
      [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
    };
  } catch (error) {
    const why = (error as Error).message;
    throw new StoreError("denied", `No database for measuring can be made beside "${path}": ${why}`, { cause: error });
  }
}
