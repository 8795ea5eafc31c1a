/**
 * Empty SQLite stores. Creating the tables of one takes four times as much processor time as a copy, and tests need thousands.
 *
 * @module
 */
import { openSqlite } from "../../src/store/sqlite/open.ts";

let made: Promise<Uint8Array<ArrayBuffer>> | undefined;

/** Writes an empty store into a file that doesn't exist yet. */
export async function writeEmptyStore(file: string): Promise<void> {
  made ??= makeStore();
  await Deno.writeFile(file, await made, { createNew: true, mode: 0o600 });
}

async function makeStore(): Promise<Uint8Array<ArrayBuffer>> {
  const folder = await Deno.makeTempDir({ prefix: "jobs-empty-" });
  try {
    // Closing it moves its log into the file.
    await (await openSqlite(`sqlite:${folder}/jobs.db`, {}))[Symbol.asyncDispose]();
    return await Deno.readFile(`${folder}/jobs.db`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
