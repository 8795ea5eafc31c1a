/**
 * A full disk: pushes to a SQLite store fail, stored jobs stay, and pushes succeed again when space is free.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { Child } from "./support/child.ts";
import { checkPlaces } from "./support/stores.ts";
import { mountDisk, requireMount } from "./support/small_disk.ts";

/** A place where a file can't exceed a few megabytes. */
interface Narrow extends AsyncDisposable {
  readonly dir: string;
  /** The command that starts a child. */
  readonly before: readonly string[];
  /** The error code of a push that didn't fit. */
  readonly code: string;
  /** Frees space. */
  widen(pid: number): Promise<unknown>;
}

Deno.test("sqlite: pushes to a file at its size limit fail, and succeed again with space", async () => {
  await using narrow = await limitedFiles();
  await fillUp(narrow);
});

// On other systems, the file at its size limit tests the same except for the error's code.
Deno.test("sqlite: pushes to a full disk fail, and succeed again with space", async () => {
  await requireMount();
  await using narrow = await smallDisk();
  await fillUp(narrow);
});

async function fillUp({ dir, before, code, widen }: Narrow): Promise<void> {
  const file = join(dir, "jobs.db");
  await using child = new Child("sqlite_child.ts", ["fill", `sqlite:${file}`, "1"], before);
  assertEquals(await child.line(), code);
  await child.tell("again");
  assertMatch((await child.line())!, new RegExp(`^${code} (\\d+) \\1$`), "no push is stored in part, none is lost");
  await widen(child.pid);
  await child.tell("again");
  assertMatch((await child.line())!, /^stored (\d+) \1$/);
  assert(await child.ended());
  checkPlaces(file);
}

async function limitedFiles(): Promise<Narrow> {
  const dir = await Deno.makeTempDir({ prefix: "jobs-limit-" });
  return {
    dir,
    before: ["sh", "-c", `trap '' XFSZ; ulimit -S -f 4096; exec "$@"`, "sh"],
    code: "unavailable",
    widen: (pid) => run("prlimit", "--pid", `${pid}`, "--fsize=unlimited"),
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

async function smallDisk(): Promise<Narrow> {
  const disk = await mountDisk("4m");
  return {
    dir: disk.dir,
    before: [],
    code: "full",
    widen: () => disk.resize("16m"),
    [Symbol.asyncDispose]: () => disk[Symbol.asyncDispose](),
  };
}

/** @throws {Error} if the command fails or doesn't exist */
async function run(command: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args }).output();
  if (!success) throw new Error(`${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}
